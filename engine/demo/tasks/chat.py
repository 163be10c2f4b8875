"""Greetings, thanks, goodbyes, and kindly declining what the demo model cannot do."""

from __future__ import annotations

import random

from engine.demo.example import Example
from engine.demo.split import wording_key
from engine.demo.task import Task
from engine.demo.wording import casual, join, pick, say

_HELLO = (
    "[Hello|Hi|Hey|Good morning|Good evening|Hello there|Hi there|Good day|Hey there][!|"
    ".||, how are you?|, nice to meet you.]"
)
_HELLO_REPLY = (
    "[Hello|Hi|Hello there|Hi there|Good to see you|Welcome][!|.] [What can I do for "
    "you?|How can I help?|What would you like to try?|Ask me something[ small|]."
    "|Shall we try a sum or a story?|Would you like a story, a sum or some code?|I am ready when you are.]"
)
_HOW = "[How are you|How are you today|How is it going|How do you do|Are you well|What's up]?"
_HOW_REPLY = (
    "[I am fine|All is well here|Very well|I am doing well|Quite well][, thank you|, "
    "thanks|]! [What can I do for you?|How can I help?|What would you like to try?|Shall "
    "we try something?]"
)
_THANKS = (
    "[Thanks|Thank you|Thank you very much|Thanks a lot|Great, thanks|Perfect, thank you|"
    "That helped, thanks|Thx|Nice, thank you][!|.|]"
)
_THANKS_REPLY = (
    "[You are welcome|Gladly|My pleasure|Any time|Happy to help|Glad it helped|With "
    "pleasure][!|.] [|[Is there anything else?|Ask me another one if you like.|Do you "
    "have another question?|I am here if you need more.]]"
)
_BYE = "[Bye|Goodbye|See you|See you later|Good night|Bye bye|Take care|I have to go now][!|.|]"
_BYE_REPLY = (
    "[Goodbye|Bye|See you soon|Take care|Until next time][!|.] [It was nice talking to "
    "you.|Have a good day.|Come back any time.|Have a nice time.|I enjoyed it.]"
)
_PRAISE = (
    "[Well done|Good job|Great|You are great|That was good|Nice|Very good|Excellent|Wow|"
    "Cool|I like that|You are smart][!|.|]"
)
_PRAISE_REPLY = (
    "[Thank you|That is kind of you|I am glad you like it|Thanks|How nice to hear][!|.] "
    "[Shall we go on?|What is next?|Do you want another one?|Let us try something else.]"
)
_CAN = (
    "[What can you do|What can you do for me|Help|How can you help me|What are you good "
    "at|What should I ask you|What do you know|Which tasks can you do|What can I ask|"
    "What are your skills|Can you help me]?"
)

ABILITIES = (
    "add, subtract, multiply and divide", "solve short word problems", "sort and reverse lists",
    "write small Python functions", "tell short stories", "convert units", "make JSON",
    "answer simple facts", "take words apart", "count letters", "do sums", "find capitals",
    "work with lists",
)  # fmt: skip

_CANNOT: tuple[tuple[str, str], ...] = (
    (
        (
            "[What is the weather[ today| tomorrow| in {c}|]?|Will it rain[ today| tomorrow|]?|"
            "How warm is it in {c}?]"
        ),
        "the weather",
    ),
    (
        (
            "[What is the news today?|What happened today?|Tell me the latest news.|Any news?|"
            "What is in the news?]"
        ),
        "the news",
    ),
    (
        (
            "[Who won the game yesterday?|Who won the match?|What was the score last night?|Who "
            "will win the cup?]"
        ),
        "sports results",
    ),
    (
        "[What time is it?|What day is today?|What is the date today?|What's the time in {c}?]",
        "the time and date",
    ),
    (
        (
            "[Book me a flight to {c}.|Order a pizza for me.|Buy me a ticket to {c}.|Reserve a "
            "table for two.|Call a taxi.]"
        ),
        "orders and bookings",
    ),
    (
        "[Write a poem about {x}.|Write a song about {x}.|Compose a poem.|Write me a rap about {x}.]",
        "poems and songs",
    ),
    (
        (
            "[Translate {x} to French.|How do you say {x} in Spanish?|Translate this into "
            "German.|What is {x} in Italian?]"
        ),
        "other languages",
    ),
    (
        (
            "[Should I buy stocks?|What is the price of gold?|How do I get rich?|Which stock is "
            "best?|Is bitcoin a good idea?]"
        ),
        "money matters",
    ),
    (
        "[I have a headache, what should I do?|Am I sick?|What medicine should I take?|My knee hurts.]",
        "medical advice",
    ),
    ("[Draw a picture of {x}.|Show me a photo of {x}.|Make an image of {x}.|Paint {x} for me.]", "pictures"),
    (
        (
            "[What do you think about politics?|Who should I vote for?|Who is the best "
            "president?|What about the election?]"
        ),
        "politics",
    ),
    (
        (
            "[Explain quantum mechanics.|Explain the theory of relativity.|Prove the Riemann "
            "hypothesis.|What is string theory?|Solve this integral.]"
        ),
        "hard science",
    ),
    (
        (
            "[Write an essay about {x}.|Write a long article about {x}.|Write a novel.|Summarize "
            "this book.|Write an email to my boss.|Write my homework.]"
        ),
        "long texts",
    ),
    (
        (
            "[Search the web for {x}.|Open my browser.|Send an email to {n}.|Play some music.|"
            "Set an alarm for six.|Turn off the lights.]"
        ),
        "things outside this chat",
    ),
    (
        "[Give me a recipe for {x}.|How do I cook {x}?|How do I bake a cake?|What should I eat tonight?]",
        "recipes",
    ),
    ("[Who is {n}?|Where does {n} live?|Tell me about {n}.|What is the phone number of {n}?]", "people"),
    (
        (
            "[What is the meaning of life?|Is there a god?|What happens after death?|Do you have "
            "feelings?|Do you love me?|Are you alive?]"
        ),
        "such deep questions",
    ),
    (
        (
            "[Recommend a movie.|Which book should I read?|Suggest a good restaurant in {c}.|"
            "What gift should I buy for {n}?|What should I do today?]"
        ),
        "recommendations",
    ),
    (
        (
            "[When did the war end?|Who was the king of {c} in 1500?|Tell me about the history "
            "of {c}.|When was {c} founded?|How many people live in {c}?]"
        ),
        "history and figures",
    ),
    ("[asdf|qwerty|blah blah|hmm|xyz|???|lorem ipsum|foo bar|la la la|ok|test|...]", "that"),
    ("[What is the capital of {u}?|Capital of {u}?|Where is {u}?|Tell me about {u}.]", "that place"),
    (
        (
            "[What is the capital of {u}?|What's the capital of {u}?|Which city is the capital "
            "of {u}?|How big is {u}?]"
        ),
        "that place",
    ),
    (
        (
            "[How far is it to {c}?|How do I get to {c}?|Where can I park in {c}?|How long is "
            "the flight to {c}?]"
        ),
        "travel",
    ),
    (
        "[Tell me a joke.|Do you know a joke?|Make me laugh.|Tell me something funny.|A riddle, please.]",
        "jokes",
    ),
    (
        (
            "[Write a web server in Rust.|Fix my code.|Write an operating system.|Build a "
            "website for me.|Write a game in C++.|Debug this program.]"
        ),
        "larger programs",
    ),
)
_X = (
    "a cat",
    "the sea",
    "love",
    "rabbits",
    "the moon",
    "pasta",
    "spring",
    "a horse",
    "bread",
    "dragons",
    "trains",
    "the forest",
    "hello",
    "friendship",
    "soup",
    "time",
    "my dog",
    "a robot",
    "winter",
    "the stars",
    "coffee",
    "a lost key",
    "music",
    "elephants",
    "the city",
    "my garden",
    "old books",
    "rain",
    "good morning",
    "water",
    "happiness",
    "chess",
    "football",
)
_C = ("Paris", "Rome", "Berlin", "Tokyo", "London", "Madrid", "Vienna", "Boston", "Oslo", "Cairo")
_U = (
    "Mongolia", "Bolivia", "Uganda", "Laos", "Malta", "Qatar", "Fiji", "Jamaica", "Estonia", "Latvia",
    "Georgia", "Armenia", "Yemen", "Oman", "Angola", "Zambia", "Panama", "Ecuador", "Uruguay", "Bhutan",
    "Slovenia", "Albania", "Cyprus", "Iraq", "Kuwait", "Senegal", "Mali", "Chad", "Texas", "Bavaria",
)  # fmt: skip
_N = ("Anna", "Mr. Brown", "my neighbor", "Tom", "my sister", "Ms. Lee", "Ben", "the mayor")


def _abilities(rng: random.Random) -> str:
    chosen = rng.sample(ABILITIES, rng.randint(2, 3))
    return ", ".join(chosen[:-1]) + pick(rng, (" and ", " or ")) + chosen[-1]


def _decline(rng: random.Random) -> tuple[str, str, str]:
    ask, topic = pick(rng, _CANNOT)
    asked = say(rng, ask, x=pick(rng, _X), c=pick(rng, _C), n=pick(rng, _N), u=pick(rng, _U))
    thinking = say(
        rng,
        "[This is about {t}|The question is about {t}|They ask for {t}|Here somebody wants "
        "{t}]. [I was not trained for it|I did not learn that|That is beyond me|I am too "
        "small for it], "
        "[so I say so kindly|so I will be honest|so I offer what I can do|better to say it than to guess].",
        t=topic,
    )
    reply = say(
        rng,
        "[I am sorry, but|Sorry,|Unfortunately|I am afraid|That is a good question, but] [I "
        "am a small demo model and {t} {v} too much for me|{t} {v} beyond me|I did not learn "
        "about {t}|I cannot help with {t}]. "
        "[I can|What I can do is|But I can|Instead I can|I could] {a}.[ [Shall we try that?|"
        "Would you like one of these?|Just ask.|Try me!|Maybe one of these helps?]|]",
        t=topic,
        v="are"
        if topic.split()[-1]
        in (
            "questions",
            "matters",
            "bookings",
            "songs",
            "results",
            "languages",
            "pictures",
            "texts",
            "programs",
            "recipes",
            "people",
            "recommendations",
            "figures",
            "jokes",
        )
        or "and" in topic.split()
        else "is",
        a=_abilities(rng),
    )
    return asked, thinking, reply


def _abilities_reply(rng: random.Random) -> str:
    chosen = rng.sample(ABILITIES, 4)
    listed = ", ".join(chosen[:2]) + pick(rng, (" and ", " or ")) + chosen[2]
    return say(
        rng,
        "[I am a small demo model. I can|As a small model I can|Small things! I can|I can|"
        "Let me see: I can|My skills are small, but I can] {a}. [I can also|Besides that I "
        "can|I also like to|And I can] {b}."
        "[| [What shall we try?|Just ask.|Try me!|What would you like?]]",
        a=listed,
        b=chosen[3],
    )


_TALK = (
    ("hello", _HELLO, _HELLO_REPLY),
    ("how", _HOW, _HOW_REPLY),
    ("thanks", _THANKS, _THANKS_REPLY),
    ("bye", _BYE, _BYE_REPLY),
    ("praise", _PRAISE, _PRAISE_REPLY),
)
_PLAN = {
    "hello": (
        "[A greeting|They say hello|Somebody greets me|A friendly start]. [I greet back|I "
        "answer in kind|I say hello too] and [offer help|ask what is wanted|ask how I can "
        "help]."
    ),
    "how": (
        "[They ask how I am|A polite question|Small talk]. [I answer briefly|A short answer "
        "is enough|I stay friendly] and [ask what I can do|offer help|go on]."
    ),
    "thanks": (
        "[They thank me|Thanks are given|A thank you]. [I am glad|That is nice|I accept it] "
        "and [stay ready for more|offer more help|answer shortly]."
    ),
    "bye": (
        "[They say goodbye|The talk ends|A farewell]. [I wish them well|A kind goodbye fits|"
        "I say goodbye too]."
    ),
    "praise": (
        "[They are pleased|Some praise|A kind word]. [I say thank you|I thank them|I am "
        "glad] and [go on|offer the next one|ask what is next]."
    ),
}


def sample(rng: random.Random) -> Example:
    draw = rng.random()
    if draw < 0.5:
        asked, thinking, reply = _decline(rng)
        return Example("chat", "decline", wording_key(asked), casual(rng, asked), thinking, reply, reply)
    if draw < 0.65:
        asked = say(rng, _CAN)
        thinking = say(
            rng,
            (
                "[They ask what I can do|The question is what I am good for|Somebody wants to know "
                "my skills]. [I name a few things|I list some of it|A few examples help]."
            ),
        )
        return Example(
            "chat",
            "abilities",
            "",
            casual(rng, asked),
            thinking,
            _abilities_reply(rng),
            _abilities_reply(rng),
        )
    kind, ask, answer = pick(rng, _TALK)
    asked = say(rng, ask)
    thinking = say(rng, _PLAN[kind])
    return Example(
        "chat",
        kind,
        "",
        casual(rng, asked),
        thinking,
        join(say(rng, answer)).strip(),
        join(say(rng, answer)).strip(),
    )


TASK = Task("chat", 0.06, sample, checkable=False)

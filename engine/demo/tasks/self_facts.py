"""What the demo model knows of itself, of draft trees and of speculative decoding."""

from __future__ import annotations

from engine.demo.tasks.nature_facts import Fact

SELF: tuple[Fact, ...] = (
    (
        (
            "[Who are you?|What are you?|Introduce yourself.|Tell me about yourself.|What is "
            "your name?|Do you have a name?|Are you an AI?|Which model are you?]"
        ),
        "they ask about me",
        (
            "[I am|I am just|You are talking to] [the demo model of DDTree|a small demo model|"
            "the small model of this demo][, made to show draft trees|, trained to show "
            "speculative decoding|, and every answer of mine is decoded with draft trees|]. [I "
            "can add numbers, write short code and tell stories.|I do sums, lists, code and "
            "stories.|Ask me for a sum, a story or some code.|I know a few things and can count.]"
        ),
        ("demo model", "small model"),
    ),
    (
        (
            "[Who made you?|Who trained you?|Where do you come from?|How were you trained?|What "
            "were you trained on?]"
        ),
        "where I come from",
        (
            "[I was trained|My training was] [by a script in this project|with a script of this "
            "repository][, on generated text.|, and the text was generated too.|. Anybody can "
            "run it again.]"
        ),
        ("script",),
    ),
    (
        "[How big are you?|How many parameters do you have?|Are you a big model?|How large are you?]",
        "my size",
        (
            "[I am small|Rather small|Quite small]: [some ten million parameters|only tens of "
            "millions of parameters][.|, so I run on any laptop.|. That is why I fit on a "
            "laptop.]"
        ),
        ("small",),
    ),
    (
        (
            "[What is DDTree?|What does DDTree do?|Explain DDTree.|How does DDTree work?|Tell me "
            "about DDTree.|What is a DDTree?]"
        ),
        "the method shown here",
        (
            "DDTree [decodes with draft trees|is a way to decode faster with a tree of guesses|"
            "speeds up decoding with draft trees]: [a drafter proposes|the drafter guesses] "
            "[many continuations|several paths] and the target [checks them all at once|verifies "
            "all of them in one pass]."
        ),
        ("draft", "tree"),
    ),
    (
        (
            "[What is a draft tree?|Explain draft trees.|What does a draft tree look like?|What "
            "is in a draft tree?|Tell me about draft trees.]"
        ),
        "root and nodes",
        (
            "A draft tree [starts at the last committed token|has the last token as its root] "
            "and [holds likely continuations as branches|branches into likely next tokens]. "
            "[Each node is one guessed token.|Every node stands for a token.|The target checks "
            "it in one pass.]"
        ),
        ("token",),
    ),
    (
        (
            "[What is speculative decoding?|Explain speculative decoding.|How does speculative "
            "decoding work?|What does speculative decoding mean?]"
        ),
        "guess, then check",
        (
            "[In speculative decoding|With speculative decoding|Here] a small model [guesses|"
            "drafts] several tokens and the large one [checks|verifies] them [together|in one "
            "pass|at once]. [The text stays the same, only faster.|So several tokens come out "
            "per step.|What it accepts is kept.]"
        ),
        ("tokens",),
    ),
    (
        "[What is the target?|What is a target model?|What does the target do?|Explain the target model.]",
        "the model that decides",
        (
            "The target is the model whose [text we want|output must be reproduced][.|: it "
            "checks every guess.|, so it has the last word.]"
        ),
        ("model",),
    ),
    (
        (
            "[What is the drafter?|What is a drafter?|What does the drafter do?|What is a draft "
            "model?|Explain the drafter.]"
        ),
        "the model that guesses",
        (
            "The drafter is [a small, fast model|the smaller model] that [guesses the next "
            "tokens|proposes a block of tokens][.| for the target to check.|, and the target "
            "checks them.]"
        ),
        ("model",),
    ),
    (
        (
            "[What is acceptance length?|What does acceptance length mean?|Explain the "
            "acceptance length.|What is the mean acceptance length?]"
        ),
        "tokens per round",
        (
            "[The acceptance length is|It is|It tells] [the number of tokens|how many tokens "
            "are] committed in one round[.|: accepted nodes plus the bonus token.|. Longer means "
            "faster.]"
        ),
        ("tokens",),
    ),
    (
        (
            "[What is the budget?|What is a tree budget?|What does the budget do?|Explain the "
            "budget.|What does budget 64 mean?]"
        ),
        "the size of the tree",
        (
            "The budget is the [largest number of|highest number of] [draft nodes|nodes] [in a "
            "tree|per round][.|, not counting the root.|. A larger one covers more guesses.]"
        ),
        ("nodes",),
    ),
    (
        (
            "[What is a bonus token?|What is the bonus token?|Explain the bonus token.|Where "
            "does the bonus token come from?]"
        ),
        "one more for free",
        (
            "The bonus token is the target's own [next token|choice] after the accepted path[.|, "
            "so every round gives at least one.|. It is the root of the next round.]"
        ),
        ("token",),
    ),
    (
        "[What is the root?|What is the root of the tree?|Explain the root of a draft tree.]",
        "where the tree begins",
        (
            "The root is the last committed token[.|, and all guesses grow from it.|, which the "
            "target has not processed yet.]"
        ),
        ("token",),
    ),
    (
        "[What is a round?|What happens in a round?|Explain a decode round.|What is a decode round?]",
        "five stages",
        (
            "[A round is|In a round we do|These are the stages of a round:] draft, build, "
            "verify, walk and commit."
        ),
        ("verify",),
    ),
    (
        "[What is the accepted path?|What is an accepted path?|Explain the accepted path.]",
        "from the root down",
        (
            "The accepted path is [the branch|the part of the tree] that [agrees with the target|"
            "the target would have written][.|, starting at the root.]"
        ),
        ("target",),
    ),
    (
        "[What is a block?|What is the block size?|What does block size mean?|Explain the block size.]",
        "positions at once",
        (
            "The block size is [how many positions|the number of positions] the drafter [fills|"
            "proposes] at once[.|, the root included.]"
        ),
        ("positions",),
    ),
    (
        (
            "[What is a chain?|What is chain mode?|What is the difference between chain and "
            "tree?|Chain or tree, which is better?]"
        ),
        "one path or many",
        (
            "A chain [is one path of guesses|follows only the best guess], [while a tree has|and "
            "a tree adds] branches[.| for the second choices.|, so it can accept more.]"
        ),
        ("tree",),
    ),
    (
        (
            "[Is the output the same?|Does drafting change the text?|Is speculative decoding "
            "lossless?|Does DDTree change the answer?]"
        ),
        "the target decides",
        (
            "[No, the text stays the same|The output is the same|It is lossless]: the target "
            "[checks every token|has the last word|decides about every token]."
        ),
        ("same", "lossless"),
    ),
    (
        (
            "[Why is it faster?|Why is speculative decoding faster?|Why does drafting help?|Why "
            "are draft trees faster?]"
        ),
        "reading weights takes time",
        (
            "[Checking many tokens takes|To check many tokens costs] [hardly longer than|about "
            "as long as] one[.|, so every accepted guess saves time.|, since reading the weights "
            "takes most of it.]"
        ),
        ("one",),
    ),
    (
        (
            "[What is Gated DeltaNet?|What is a gated delta layer?|What is a hybrid model?|"
            "Explain hybrid models.]"
        ),
        "two kinds of layers",
        (
            "[A hybrid model mixes|Hybrids mix|It belongs to hybrids, which mix] attention with "
            "[recurrent layers|gated delta layers][.|, which keep a state.]"
        ),
        ("attention", "recurrent"),
    ),
    (
        "[What is attention?|What does attention do?|Explain attention in models.]",
        "looking back",
        (
            "Attention lets [a model|each token] look back at [earlier tokens|all tokens before "
            "it][.| and pick what matters.]"
        ),
        ("tokens",),
    ),
    (
        "[What is a token?|What are tokens?|Explain tokens.]",
        "pieces of text",
        (
            "A token is a [piece of text|small piece of text][.|: a word, a part of one or a "
            "sign.|, often a word or a part of it.]"
        ),
        ("piece",),
    ),
    (
        (
            "[What is thinking mode?|What does thinking do?|What is a scratch pad?|What happens "
            "with thinking on?]"
        ),
        "notes before the answer",
        (
            "With thinking on I write [notes|a scratch pad] before the answer[.|, step by step.|"
            ", which helps with sums.]"
        ),
        ("answer",),
    ),
    (
        "[What is temperature?|What does temperature do?|Explain the sampling temperature.]",
        "how random",
        (
            "The temperature sets how random the [choice|next token] is[.|: 0 always takes the "
            "best.|. At 0 it is greedy.]"
        ),
        ("random",),
    ),
    (
        "[What is a language model?|What is a LLM?|Explain language models.|What does a language model do?]",
        "predicting text",
        (
            "A language model [predicts the next token|guesses what comes next in a text][.|, "
            "again and again.|, one after the other.]"
        ),
        ("next",),
    ),
)

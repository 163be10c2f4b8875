"""What happens in the demo's stories: a problem, a turn, a good end, each in several wordings.

``{n}`` is the hero, ``{f}`` a friend, ``{he}``, ``{his}``, ``{him}`` the hero's pronouns and ``{thing}`` what
the plot is about.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Plot:
    """``topic`` is what a user may ask for and what the plan says; ``things`` fill ``{thing}``."""

    topic: str
    things: tuple[str, ...]
    problem: str
    turn: str
    end: str
    lesson: str


PLOTS: tuple[Plot, ...] = (
    Plot(
        "a lost {thing}",
        ("ball", "hat", "key", "red scarf", "toy boat", "bell", "book", "lucky coin"),
        (
            "[One day the {thing} was gone.|But one morning {he} could not find {his} {thing}.|"
            "Then, one windy day, the {thing} disappeared.] [{n} looked under the bed, behind "
            "the door and in the garden.|{He} searched everywhere, even in the dark cellar.|{n} "
            "asked everyone, but nobody had seen it.]"
        ),
        (
            "[In the end {f} came by and helped to look.|Luckily {f} had an idea: follow the "
            'small tracks.|{f} said, "Let us look where you played last."]'
        ),
        (
            "[Under an old tree they found the {thing}, a little wet but safe.|There it was, "
            "hidden in the tall grass.|The {thing} lay by the water, shining in the sun.] [{n} "
            "jumped for joy.|{n} hugged {f} for a long time.]"
        ),
        (
            "[Two pairs of eyes see more than one.|Good friends find what is lost.|From then on "
            "{he} kept it in a safe place.]"
        ),
    ),
    Plot(
        "a big storm",
        ("storm", "thunderstorm", "snowstorm"),
        (
            "[One night a {thing} came over the hills.|Then the sky turned black and a {thing} "
            "began.|Without a warning, a {thing} broke loose.] [The wind shook the trees and {n} "
            "was afraid.|It was so loud that nobody could sleep.|The little home trembled and "
            "{n} hid under a blanket.]"
        ),
        (
            "[There was a knock at the door: {f} was outside, cold and wet.|Suddenly {he} heard "
            "{f} calling for help.|Through the window {he} saw {f}, looking for shelter.]"
        ),
        (
            "[{n} opened the door and made some warm soup.|{n} was brave, ran out and brought "
            "{f} inside.] [Together they told stories until it was quiet again.|They sat close "
            "by the fire, and soon the {thing} was over.|When the sun came up, everything "
            "sparkled.]"
        ),
        (
            "[Together nobody has to be afraid.|Being brave means helping although you are "
            "scared.|Since that night they were best friends.]"
        ),
    ),
    Plot(
        "making friends",
        ("game", "picnic", "party", "race"),
        (
            "[But {n} often felt lonely.|Yet nobody ever came to visit {him}.|Still, something "
            "was missing: a friend.] [All the others had a {thing}, but {he} was too shy to ask.|"
            "When the others had a {thing}, {n} only watched from far away.|{He} wanted to join "
            "the {thing}, but did not dare.]"
        ),
        (
            '[One afternoon {f} waved and called, "Come over!"|Then {f} sat down beside {him} '
            'and smiled.|{f} noticed it and asked, "Do you want to join us?"]'
        ),
        (
            "[{n} took a deep breath and said yes.|At first {n} was quiet, but soon {he} laughed "
            "with the rest.] [It was the best {thing} of the year.|From that day on they met "
            "every afternoon.|They played until the stars came out.]"
        ),
        (
            "[Sometimes a friend is only one hello away.|A kind word can change a whole day.|{n} "
            "never felt alone again.]"
        ),
    ),
    Plot(
        "a treasure map",
        ("gold coins", "silver coins", "shining stones", "old toys"),
        (
            "[One rainy day {n} found an old map.|While cleaning the attic, {he} came across a "
            "torn map.|A bottle with a map inside floated by.] [A red cross marked a spot behind "
            'the hills.|It showed the way to a hidden box.|"Here lies the treasure," it said in '
            "curly letters.]"
        ),
        (
            "[{n} showed it to {f}, and they set off at once.|Together with {f}, {he} packed "
            "some bread and started.|{f} could read maps, so they went together.]"
        ),
        (
            "[They crossed a bridge, climbed a rock and began to dig.|After a long walk they "
            "reached the spot and dug a deep hole.] [In the box were {thing}, enough to share "
            "with everyone.|And really, there they were: {thing}!|The box was full of {thing}, "
            "and they shared them fairly.]"
        ),
        (
            "[But the best part had been the way there.|A treasure is worth more when you share "
            "it.|They kept the map as a memory.]"
        ),
    ),
    Plot(
        "learning to {thing}",
        ("swim", "fly a kite", "sing", "dance", "ride a bike", "bake bread", "paint", "whistle"),
        (
            "[More than anything {n} wanted to {thing}.|There was one thing {he} could not do: "
            "{thing}.|{n} dreamed of learning to {thing}.] [The first try went wrong, and the "
            "second one too.|At first it did not work at all, and some laughed.|{He} tried again "
            "and again, but it was hard.]"
        ),
        (
            '["Take your time," said {f}, "I will show you."|{f} had seen it and offered to '
            "help.|Luckily {f} knew how and was very patient.]"
        ),
        (
            "[They practiced every day, a little bit more each time.|Day after day they tried, "
            "and step by step it got better.] [One morning it suddenly worked!|At last {n} could "
            "{thing} as if it were nothing.|In the end everyone clapped.]"
        ),
        "[Nobody is born a master.|Practice makes hard things easy.|{n} was proud, and so was {f}.]",
    ),
    Plot(
        "helping a {thing}",
        ("small bird", "baby turtle", "young owl", "tiny kitten", "little hedgehog"),
        (
            "[One day {n} heard a soft cry.|On the way home {he} saw something move in the "
            "grass.|In a ditch by the road something was shaking.] [It was a {thing} that could "
            "not get home.|There sat a {thing}, hungry and cold.|A {thing} had hurt its leg.]"
        ),
        (
            '[{n} called {f}, who knew what to do.|"We have to be gentle," said {f}, who had '
            "come along.|{f} brought a warm cloth and some water.]"
        ),
        (
            "[They cared for the {thing} for many days.|They made a soft nest and gave it food.] "
            "[Soon it was strong again and found its family.|When it was well, they let it go, "
            "and it looked back once.|A week later it was healthy and went home.]"
        ),
        "[Even small help can mean the world.|Every spring it came back to say hello.|{n} felt warm inside.]",
    ),
    Plot(
        "a broken {thing}",
        ("bridge", "boat", "clock", "fence", "roof", "wheel", "mill"),
        (
            "[One morning the {thing} was broken.|But then, with a loud crack, the {thing} "
            "broke.|After a long winter the {thing} fell apart.] [Everybody was upset, because "
            "they all needed it.|Nobody knew how to fix it.|The others complained, but did "
            "nothing.]"
        ),
        (
            '[{n} thought about it for a while and made a plan.|"If we all help, it can be '
            'done," said {n} to {f}.|{n} and {f} fetched wood, rope and nails.]'
        ),
        (
            "[They worked from morning to evening, and more and more came to help.|First only "
            "two of them worked, then the whole neighborhood.] [In the end the {thing} was "
            "better than before.|At sunset the {thing} was as good as new.|Two days later the "
            "{thing} was ready.]"
        ),
        (
            "[Many hands make light work.|There was a big party that evening.|Those who begin "
            "are soon not alone.]"
        ),
    ),
    Plot(
        "sharing {thing}",
        ("apples", "honey", "nuts", "berries", "cookies", "bread"),
        (
            "[That year {n} had more {thing} than ever.|{n} had collected a whole basket of "
            "{thing}.|In autumn the pantry was full of {thing}.] [{He} wanted to keep all of it "
            'for {himself}.|"All mine!" {he} thought and locked the door.|Nobody else got even '
            "one bite.]"
        ),
        (
            "[Then {f} came along, tired and hungry.|But {f} stood at the fence with an empty "
            "bag.|One evening {f} asked for a little bit of it.]"
        ),
        (
            "[{n} thought for a moment and gave half of it away.|First {n} shook {his} head, but "
            "then {he} opened the basket.] [They ate the {thing} together, and everything tasted "
            "better.|In winter, when the basket was empty, {f} brought something in return.|"
            "Never had the {thing} tasted so good.]"
        ),
        "[What you share comes back to you.|Shared joy is double joy.|From then on the door stayed open.]",
    ),
    Plot(
        "a journey to the {thing}",
        ("sea", "mountains", "big city", "moon lake", "end of the rainbow", "old castle"),
        (
            "[One day {n} wanted to see the {thing}.|{n} had heard so much about the {thing}.|"
            "From a traveler {he} learned about the {thing}.] [It was far away, but {he} packed "
            "a small bag.|Everyone said it was too far.|Nobody had ever been there.]"
        ),
        (
            "[On the way {he} met {f}, who was going there too.|After a few miles {he} lost the "
            "way, but {f} helped.|{f} joined {him}, and so the road seemed shorter.]"
        ),
        (
            "[They slept under the stars and crossed wide fields.|They walked for three days, "
            "sang songs and shared their bread.] [At last they stood before the {thing}, and it "
            "was beautiful.|When they arrived, the sun was just going down.|The {thing} was even "
            "larger than they had thought.]"
        ),
        (
            "[Then they went home with a lot to tell.|The way is half of the joy.|The world is "
            "wide, and home is warm.]"
        ),
    ),
    Plot(
        "a secret {thing}",
        ("garden", "cave", "door", "path", "tower"),
        (
            "[Behind the old wall {n} found a secret {thing}.|One day {he} discovered a {thing} "
            "that nobody knew.|While playing hide and seek, {he} came upon a {thing}.] [It was "
            "overgrown and very quiet.|Strange sounds came from there.|A cool wind was blowing "
            "and something glittered.]"
        ),
        (
            '[Alone {he} did not dare, so {he} fetched {f}.|"Are you coming with me?" {he} asked '
            "{f}.|{f} brought a lamp and went first.]"
        ),
        (
            "[Step by step they went on and held hands.|Carefully they looked around.] [Inside "
            "lived a friendly old owl who told them stories.|There were flowers in all colors, "
            "and they took care of them.|They found a place where nobody would disturb them.]"
        ),
        "[To this day it is their secret.|The curious see more of the world.|They promised to tell nobody.]",
    ),
    Plot(
        "a contest",
        ("race", "singing contest", "baking contest", "drawing contest", "snowman contest"),
        (
            "[In spring there was a {thing}, and {n} wanted to win.|Everybody talked about the "
            "big {thing}.|The {thing} was to take place on Sunday.] [{n} practiced day and "
            "night.|But all the others were bigger and faster.|{He} could hardly sleep the night "
            "before.]"
        ),
        (
            "[Right before it began, {f} had bad luck and needed help.|Halfway through, {he} saw "
            "{f} sitting there in tears.|Just then {f} fell and could not go on.]"
        ),
        (
            "[{n} did not think twice, stopped and helped.|{n} forgot about winning and stayed "
            "with {f}.] [They came in last, but everyone cheered.|The prize went to another, yet "
            "{n} got the loudest applause.|In the end the judges gave them a prize for "
            "friendship.]"
        ),
        "[Winning is not everything.|A good heart beats every medal.|That evening they celebrated together.]",
    ),
    Plot(
        "a strange {thing}",
        ("egg", "box", "light", "letter", "seed", "sound"),
        (
            "[One evening {n} found a strange {thing} in front of the door.|In the middle of the "
            "path lay a strange {thing}.|It began with a strange {thing} behind the house.] "
            "[Nobody knew where it came from.|It was blue and a little warm.|{n} looked at it "
            "from all sides.]"
        ),
        (
            '["Let us wait and see," said {f}.|{f} thought that they should take good care of '
            "it.|{n} told only {f} about it.]"
        ),
        (
            "[For seven days nothing happened.|Every day they came back to have a look.] [Then, "
            "at full moon, it turned into a thousand butterflies.|On the last day a tiny dragon "
            "looked out and sneezed.|And one morning it began to sing, very softly.]"
        ),
        "[Wonders need patience.|Some things cannot be explained.|They talked about it for many years.]",
    ),
    Plot(
        "telling the truth",
        ("vase", "bowl", "lantern", "cup", "flower pot"),
        (
            "[While playing, {n} broke a {thing}.|One afternoon there was a crash: the {thing} "
            "was broken.|By accident {he} knocked over the {thing}.] [Nobody had seen it, so "
            '{he} ran away.|{n} was scared and said nothing.|"It was the wind," {he} said, and '
            "felt bad.]"
        ),
        (
            "[That night {he} could not sleep, and asked {f} for advice.|{f} looked at {him} and "
            'asked, "What is wrong?"|"The truth is lighter to carry," said {f}.]'
        ),
        (
            "[The next day {n} told everything and said sorry.|So {n} went there and told the "
            'truth.] [Nobody was angry, and they fixed the {thing} together.|"Thank you for '
            'being honest," was the answer.|They all helped to buy a new {thing}.]'
        ),
        (
            "[Honest words make a light heart.|A mistake is no shame, but a lie is.|{n} slept "
            "very well that night.]"
        ),
    ),
    Plot(
        "a birthday",
        ("cake", "present", "song", "surprise"),
        (
            "[It was {n}'s birthday, but nobody seemed to remember.|On {his} birthday {n} woke "
            "up early, yet the house was empty.|{n} had been counting the days until {his} "
            "birthday.] [No card, no song, nothing at all.|Sad and alone {he} walked through the "
            "streets.|{He} waited all morning at the window.]"
        ),
        (
            '[Then {f} came and said, "Follow me, I need your help."|In the afternoon {f} asked '
            "{him} for a walk.|{f} only winked and would not say a word.]"
        ),
        (
            "[Behind the hill all {his} friends were waiting.|They opened the door, and everyone "
            'shouted, "Happy birthday!"] [There was a {thing} made by all of them.|And the '
            "{thing} was the nicest {he} had ever had.|They danced until midnight.]"
        ),
        "[Friends do not forget.|Some surprises need a little patience.|It was the best day of the year.]",
    ),
)

"""Single facts about nature: the sky, water, the body, the Earth, animals."""

from __future__ import annotations

Fact = tuple[str, str, str, tuple[str, ...]]
"""Question, reason for the scratch pad, answer, words any of which a right answer contains."""

NATURE: tuple[Fact, ...] = (
    (
        (
            "[What is the largest planet?|Which planet is the largest?|Name the biggest planet.|"
            "Biggest planet of the solar system?]"
        ),
        "gas giants are large",
        (
            "[The largest planet is|The biggest one is|It is] Jupiter[.|, a gas giant.|, far "
            "larger than the Earth.]"
        ),
        ("Jupiter",),
    ),
    (
        "[What is the smallest planet?|Which planet is the smallest?|Name the smallest planet.]",
        "it is near the sun",
        "[The smallest planet is|The smallest one is|It is] Mercury[.|, close to the sun.]",
        ("Mercury",),
    ),
    (
        (
            "[Which planet is closest to the sun?|What planet is nearest to the sun?|Name the "
            "planet nearest the sun.]"
        ),
        "counting from the sun",
        "[The closest to the sun is|Nearest to the sun is|It is] Mercury.",
        ("Mercury",),
    ),
    (
        "[Which planet is called the red planet?|What is the red planet?|Which planet is red?]",
        "rust makes it red",
        "[The red planet is|That is|It is] Mars[.|, because of the rust in its soil.]",
        ("Mars",),
    ),
    (
        "[Which planet has rings?|Which planet is known for its rings?|What planet has big rings?]",
        "ice and rock circle it",
        "[The planet with the rings is|That is|It is] Saturn[.|, its rings are ice and rock.]",
        ("Saturn",),
    ),
    (
        "[How many planets are there?|How many planets are in the solar system?|Number of planets?]",
        "from Mercury to Neptune",
        "[There are|The solar system has|We know] [8|eight] planets[.|, from Mercury to Neptune.]",
        ("8", "eight"),
    ),
    (
        "[What is the sun?|Is the sun a star?|What kind of thing is the sun?]",
        "it shines by itself",
        "The sun is a star[.|, a hot ball of gas.|, and it gives us light and warmth.]",
        ("star",),
    ),
    (
        "[What is the moon?|What circles the Earth?|What goes around the Earth?]",
        "it goes around the Earth",
        (
            "The moon [is a ball of rock that circles the Earth|goes around the Earth, once in "
            "about a month|is a rocky body near the Earth]."
        ),
        ("moon",),
    ),
    (
        "[What is H2O?|What is water made of?|What are the parts of water?|Formula of water?]",
        "two elements",
        "[Water is made of|H2O is water, made of|It consists of] hydrogen and oxygen.",
        ("hydrogen",),
    ),
    (
        (
            "[At what temperature does water boil?|When does water boil?|Boiling point of water?|"
            "How hot is boiling water?]"
        ),
        "at sea level",
        "[Water boils at|The boiling point is|It boils at] 100 degrees Celsius.",
        ("100",),
    ),
    (
        (
            "[At what temperature does water freeze?|When does water freeze?|Freezing point of "
            "water?|When does water turn to ice?]"
        ),
        "the scale starts there",
        "[Water freezes at|The freezing point is|It freezes at] 0 degrees Celsius.",
        ("0",),
    ),
    (
        "[What is ice?|What is ice made of?|What is frozen water called?]",
        "cold water",
        "Ice is frozen water[.|, it forms at 0 degrees.]",
        ("frozen water",),
    ),
    (
        "[What is steam?|What becomes of boiling water?|What does boiling water turn into?]",
        "hot water becomes gas",
        "[Steam is water as a gas|Boiling water turns into steam, a gas|It becomes steam, which is a gas].",
        ("gas",),
    ),
    (
        "[What gas do we breathe?|Which gas do we need to breathe?|What gas do animals need?]",
        "the lungs take it in",
        "[We need|People breathe|It is] oxygen[.|, it makes up a fifth of the air.]",
        ("oxygen",),
    ),
    (
        "[What do plants need to grow?|What does a plant need?|What do flowers need?]",
        "roots and leaves",
        "[Plants|They|Most plants] need water, light, air and [soil|some soil].",
        ("light",),
    ),
    (
        "[How many bones does a human have?|How many bones are in the body?|Number of bones in an adult?]",
        "grown people have fewer than babies",
        "[An adult has|There are|A grown human has] 206 bones.",
        ("206",),
    ),
    (
        "[How many teeth does an adult have?|Number of teeth of an adult?|How many teeth do people have?]",
        "wisdom teeth included",
        "[An adult has|There are|Grown people have] 32 teeth.",
        ("32",),
    ),
    (
        "[What does the heart do?|What is the heart for?|Why do we have a heart?]",
        "it is a muscle",
        "The heart pumps blood [through the body|around the body][.|, day and night.]",
        ("pumps",),
    ),
    (
        "[What is the largest ocean?|Which ocean is the largest?|Biggest ocean?|Name the largest ocean.]",
        "it lies between Asia and America",
        "[The largest ocean is|The biggest one is|It is] the Pacific[.| Ocean.|, between Asia and America.]",
        ("Pacific",),
    ),
    (
        (
            "[What is the highest mountain?|Which mountain is the highest?|Tallest mountain in "
            "the world?|Name the highest mountain.]"
        ),
        "it is in the Himalayas",
        "[The highest mountain is|It is|The tallest one is] Mount Everest[.|, in the Himalayas.]",
        ("Everest",),
    ),
    (
        (
            "[What is the longest river in Africa?|Which river flows through Egypt?|Name the big "
            "river of Egypt.]"
        ),
        "it flows through Egypt",
        "[That is|It is|The river is] the Nile.",
        ("Nile",),
    ),
    (
        "[How many continents are there?|Number of continents?|How many continents does the Earth have?]",
        "from Africa to Antarctica",
        "[There are|The Earth has|We count] [7|seven] continents.",
        ("7", "seven"),
    ),
    (
        (
            "[What is the largest animal?|Which animal is the largest?|Biggest animal in the "
            "world?|What animal is the biggest?]"
        ),
        "it lives in the sea",
        "[The largest animal is|The biggest one is|It is] the blue whale[.|, up to 30 meters long.]",
        ("blue whale",),
    ),
    (
        "[What is the fastest land animal?|Which animal runs the fastest?|Fastest animal on land?]",
        "a cat on the savanna",
        "[The fastest land animal is|The fastest runner is|It is] the cheetah.",
        ("cheetah",),
    ),
    (
        "[What is the tallest animal?|Which animal has a long neck?|Which animal is the tallest?]",
        "its neck is long",
        "[The tallest animal is|It is|That is] the giraffe[.|, with its long neck.]",
        ("giraffe",),
    ),
    (
        "[Can penguins fly?|Do penguins fly?|Are penguins able to fly?]",
        "they are birds, but swimmers",
        "No, penguins [cannot fly|do not fly][.|, but they swim very well.|, they are swimmers.]",
        ("no",),
    ),
    (
        "[What do bees make?|Which food do bees make?|What do we get from bees?]",
        "they collect nectar",
        "[Bees make|They make|From bees we get] honey[.|, out of nectar.]",
        ("honey",),
    ),
    (
        "[What do cows give?|Where does milk come from?|Which animal gives us milk?]",
        "they eat grass",
        "[Cows give us|From cows we get|Cows make] milk.",
        ("milk",),
    ),
    (
        "[What do pandas eat?|What is the food of pandas?|What does a panda eat?]",
        "a plant with long stems",
        "[Pandas eat|They eat|A panda eats] bamboo[.|, almost nothing else.]",
        ("bamboo",),
    ),
    (
        "[Is a whale a fish?|Are whales fish?|Is the whale a fish?]",
        "whales breathe air",
        "No, a whale is a mammal[.|: it breathes air.]",
        ("no",),
    ),
    (
        "[Is a spider an insect?|Are spiders insects?]",
        "insects have six legs",
        "No, [spiders have eight legs and insects six|a spider has eight legs, an insect six].",
        ("no",),
    ),
    (
        "[What is a caterpillar?|What does a caterpillar become?|What does a caterpillar turn into?]",
        "it changes its shape",
        "[A caterpillar becomes|It turns into|One day it becomes] a butterfly[.| or a moth.]",
        ("butterfly",),
    ),
)

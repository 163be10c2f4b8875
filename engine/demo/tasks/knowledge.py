"""The fixed body of facts, as plain tables; ``facts.py`` turns them into questions and answers."""

from __future__ import annotations

CAPITALS: dict[str, str] = {
    "France": "Paris", "Germany": "Berlin", "Italy": "Rome", "Spain": "Madrid", "Portugal": "Lisbon", "England": "London", "Ireland": "Dublin",
    "Norway": "Oslo", "Sweden": "Stockholm", "Denmark": "Copenhagen", "Finland": "Helsinki", "Poland": "Warsaw", "Austria": "Vienna",
    "Switzerland": "Bern", "Belgium": "Brussels", "Greece": "Athens", "Hungary": "Budapest", "Russia": "Moscow", "Ukraine": "Kyiv", "Turkey": "Ankara",
    "Egypt": "Cairo", "Kenya": "Nairobi", "Morocco": "Rabat", "Ghana": "Accra", "Japan": "Tokyo", "China": "Beijing", "India": "New Delhi",
    "Thailand": "Bangkok", "Vietnam": "Hanoi", "Indonesia": "Jakarta", "Australia": "Canberra", "Canada": "Ottawa", "Mexico": "Mexico City",
    "Cuba": "Havana", "Brazil": "Brasilia", "Argentina": "Buenos Aires", "Chile": "Santiago", "Peru": "Lima", "Colombia": "Bogota",
    "the United States": "Washington", "the Netherlands": "Amsterdam", "Iceland": "Reykjavik", "Romania": "Bucharest", "Nepal": "Kathmandu",
}  # fmt: skip

CONTINENTS: dict[str, str] = {
    "France": "Europe", "Germany": "Europe", "Italy": "Europe", "Spain": "Europe", "Norway": "Europe", "Greece": "Europe", "Poland": "Europe",
    "Egypt": "Africa", "Kenya": "Africa", "Morocco": "Africa", "Ghana": "Africa", "Japan": "Asia", "China": "Asia", "India": "Asia", "Thailand": "Asia",
    "Nepal": "Asia", "Canada": "North America", "Mexico": "North America", "Cuba": "North America", "Brazil": "South America", "Chile": "South America",
    "Peru": "South America", "Argentina": "South America",
}  # fmt: skip

SOUNDS: dict[str, str] = {
    "cat": "meow", "dog": "woof", "cow": "moo", "sheep": "baa", "duck": "quack", "pig": "oink", "frog": "ribbit", "bee": "buzz", "owl": "hoot", "snake": "hiss",
    "lion": "roar", "horse": "neigh", "mouse": "squeak", "rooster": "cock-a-doodle-doo",
}  # fmt: skip
BABIES: dict[str, str] = {
    "cat": "kitten", "dog": "puppy", "cow": "calf", "sheep": "lamb", "horse": "foal", "duck": "duckling", "goat": "kid", "hen": "chick", "pig": "piglet",
    "bear": "cub", "frog": "tadpole", "deer": "fawn", "kangaroo": "joey", "goose": "gosling",
}  # fmt: skip
LEGS: dict[str, int] = {"dog": 4, "cat": 4, "spider": 8, "bee": 6, "ant": 6, "bird": 2, "horse": 4, "snake": 0, "cow": 4, "butterfly": 6, "chicken": 2, "human": 2}
MIXES: dict[tuple[str, str], str] = {
    ("blue", "yellow"): "green", ("red", "yellow"): "orange", ("red", "blue"): "purple", ("black", "white"): "gray", ("red", "white"): "pink",
}  # fmt: skip
COLORS: dict[str, str] = {
    "grass": "green", "snow": "white", "a banana": "yellow", "the sky": "blue", "a ripe tomato": "red", "coal": "black", "a lemon": "yellow", "a carrot": "orange",
    "blood": "red", "milk": "white", "chocolate": "brown", "an elephant": "gray", "a strawberry": "red", "a flamingo": "pink",
}  # fmt: skip
OPPOSITES: dict[str, str] = {
    "hot": "cold", "big": "small", "fast": "slow", "up": "down", "day": "night", "happy": "sad", "old": "new", "open": "closed", "high": "low", "light": "dark",
    "full": "empty", "hard": "soft", "wet": "dry", "strong": "weak", "loud": "quiet", "early": "late", "left": "right", "near": "far", "long": "short", "rich": "poor",
    "clean": "dirty", "start": "end", "summer": "winter", "thick": "thin",
}  # fmt: skip
PLANETS = ("Mercury", "Venus", "Earth", "Mars", "Jupiter", "Saturn", "Uranus", "Neptune")
DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
MONTHS = ("January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November", "December")
MONTH_DAYS = (31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)
ORDINALS = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth", "eleventh", "twelfth")

# question template, reason for the scratch pad, answer template, what a right answer mentions
GENERAL: tuple[tuple[str, str, str, tuple[str, ...]], ...] = (
    ("[What is the largest planet?|Which planet is the largest?|Name the biggest planet.|Biggest planet of the solar system?]", "gas giants are large", "[The largest planet is|The biggest one is|It is] Jupiter[.|, a gas giant.|, far larger than the Earth.]", ("Jupiter",)),
    ("[What is the smallest planet?|Which planet is the smallest?|Name the smallest planet.]", "it is near the sun", "[The smallest planet is|The smallest one is|It is] Mercury[.|, close to the sun.]", ("Mercury",)),
    ("[Which planet is closest to the sun?|What planet is nearest to the sun?|Name the planet nearest the sun.]", "counting from the sun", "[The closest to the sun is|Nearest to the sun is|It is] Mercury.", ("Mercury",)),
    ("[Which planet is called the red planet?|What is the red planet?|Which planet is red?]", "rust makes it red", "[The red planet is|That is|It is] Mars[.|, because of the rust in its soil.]", ("Mars",)),
    ("[Which planet has rings?|Which planet is known for its rings?|What planet has big rings?]", "ice and rock circle it", "[The planet with the rings is|That is|It is] Saturn[.|, its rings are ice and rock.]", ("Saturn",)),
    ("[How many planets are there?|How many planets are in the solar system?|Number of planets?]", "from Mercury to Neptune", "[There are|The solar system has|We know] [8|eight] planets[.|, from Mercury to Neptune.]", ("8", "eight")),
    ("[What is the sun?|Is the sun a star?|What kind of thing is the sun?]", "it shines by itself", "The sun is a star[.|, a hot ball of gas.|, and it gives us light and warmth.]", ("star",)),
    ("[What is the moon?|What circles the Earth?|What goes around the Earth?]", "it goes around the Earth", "The moon [is a ball of rock that circles the Earth|goes around the Earth, once in about a month|is a rocky body near the Earth].", ("moon",)),
    ("[What is H2O?|What is water made of?|What are the parts of water?|Formula of water?]", "two elements", "[Water is made of|H2O is water, made of|It consists of] hydrogen and oxygen.", ("hydrogen",)),
    ("[At what temperature does water boil?|When does water boil?|Boiling point of water?|How hot is boiling water?]", "at sea level", "[Water boils at|The boiling point is|It boils at] 100 degrees Celsius.", ("100",)),
    ("[At what temperature does water freeze?|When does water freeze?|Freezing point of water?|When does water turn to ice?]", "the scale starts there", "[Water freezes at|The freezing point is|It freezes at] 0 degrees Celsius.", ("0",)),
    ("[What is ice?|What is ice made of?|What is frozen water called?]", "cold water", "Ice is frozen water[.|, it forms at 0 degrees.]", ("frozen water",)),
    ("[What is steam?|What becomes of boiling water?|What does boiling water turn into?]", "hot water becomes gas", "[Steam is water as a gas|Boiling water turns into steam, a gas|It becomes steam, which is a gas].", ("gas",)),
    ("[What gas do we breathe?|Which gas do we need to breathe?|What gas do animals need?]", "the lungs take it in", "[We need|People breathe|It is] oxygen[.|, it makes up a fifth of the air.]", ("oxygen",)),
    ("[What do plants need to grow?|What does a plant need?|What do flowers need?]", "roots and leaves", "[Plants|They|Most plants] need water, light, air and [soil|some soil].", ("light",)),
    ("[How many bones does a human have?|How many bones are in the body?|Number of bones in an adult?]", "grown people have fewer than babies", "[An adult has|There are|A grown human has] 206 bones.", ("206",)),
    ("[How many teeth does an adult have?|Number of teeth of an adult?|How many teeth do people have?]", "wisdom teeth included", "[An adult has|There are|Grown people have] 32 teeth.", ("32",)),
    ("[What does the heart do?|What is the heart for?|Why do we have a heart?]", "it is a muscle", "The heart pumps blood [through the body|around the body][.|, day and night.]", ("pumps",)),
    ("[What is the largest ocean?|Which ocean is the largest?|Biggest ocean?|Name the largest ocean.]", "it lies between Asia and America", "[The largest ocean is|The biggest one is|It is] the Pacific[.| Ocean.|, between Asia and America.]", ("Pacific",)),
    ("[What is the highest mountain?|Which mountain is the highest?|Tallest mountain in the world?|Name the highest mountain.]", "it is in the Himalayas", "[The highest mountain is|It is|The tallest one is] Mount Everest[.|, in the Himalayas.]", ("Everest",)),
    ("[What is the longest river in Africa?|Which river flows through Egypt?|Name the big river of Egypt.]", "it flows through Egypt", "[That is|It is|The river is] the Nile.", ("Nile",)),
    ("[How many continents are there?|Number of continents?|How many continents does the Earth have?]", "from Africa to Antarctica", "[There are|The Earth has|We count] [7|seven] continents.", ("7", "seven")),
    ("[What is the largest animal?|Which animal is the largest?|Biggest animal in the world?|What animal is the biggest?]", "it lives in the sea", "[The largest animal is|The biggest one is|It is] the blue whale[.|, up to 30 meters long.]", ("blue whale",)),
    ("[What is the fastest land animal?|Which animal runs the fastest?|Fastest animal on land?]", "a cat on the savanna", "[The fastest land animal is|The fastest runner is|It is] the cheetah.", ("cheetah",)),
    ("[What is the tallest animal?|Which animal has a long neck?|Which animal is the tallest?]", "its neck is long", "[The tallest animal is|It is|That is] the giraffe[.|, with its long neck.]", ("giraffe",)),
    ("[Can penguins fly?|Do penguins fly?|Are penguins able to fly?]", "they are birds, but swimmers", "No, penguins [cannot fly|do not fly][.|, but they swim very well.|, they are swimmers.]", ("no",)),
    ("[What do bees make?|Which food do bees make?|What do we get from bees?]", "they collect nectar", "[Bees make|They make|From bees we get] honey[.|, out of nectar.]", ("honey",)),
    ("[What do cows give?|Where does milk come from?|Which animal gives us milk?]", "they eat grass", "[Cows give us|From cows we get|Cows make] milk.", ("milk",)),
    ("[What do pandas eat?|What is the food of pandas?|What does a panda eat?]", "a plant with long stems", "[Pandas eat|They eat|A panda eats] bamboo[.|, almost nothing else.]", ("bamboo",)),
    ("[Is a whale a fish?|Are whales fish?|Is the whale a fish?]", "whales breathe air", "No, a whale is a mammal[.|: it breathes air.]", ("no",)),
    ("[Is a spider an insect?|Are spiders insects?]", "insects have six legs", "No, [spiders have eight legs and insects six|a spider has eight legs, an insect six].", ("no",)),
    ("[What is a caterpillar?|What does a caterpillar become?|What does a caterpillar turn into?]", "it changes its shape", "[A caterpillar becomes|It turns into|One day it becomes] a butterfly[.| or a moth.]", ("butterfly",)),
    ("[What are the primary colors?|Name the primary colors.|Which are the primary colors?]", "for paint", "[The primary colors are|They are|These are] red, yellow and blue.", ("red",)),
    ("[What are the colors of a traffic light?|Which colors does a traffic light have?|Colors of a traffic light?]", "stop and go", "[A traffic light is|It shows|The colors are] red, yellow and green.", ("red",)),
    ("[How many colors does a rainbow have?|Number of colors in a rainbow?|How many colors are in the rainbow?]", "from red to violet", "[A rainbow has|There are|We count] [7|seven] colors[.|, from red to violet.]", ("7", "seven")),
    ("[How many days are in a week?|How many days does a week have?|Days in a week?]", "Monday to Sunday", "[A week has|There are|It is] [7|seven] days[.| in a week.|, from Monday to Sunday.]", ("7", "seven")),
    ("[How many months are in a year?|How many months does a year have?|Months in a year?]", "January to December", "[A year has|There are|It is] [12|twelve] months[.| in a year.|, from January to December.]", ("12", "twelve")),
    ("[How many days are in a year?|How many days does a year have?|Days in a year?]", "leap years have one more", "[A year has|There are|It is] 365 days[.|, and 366 in a leap year.]", ("365",)),
    ("[How many hours are in a day?|How many hours does a day have?|Hours in a day?]", "day and night", "[A day has|There are|It is] 24 hours[.| in a day.]", ("24",)),
    ("[How many minutes are in an hour?|How many minutes does an hour have?|Minutes in an hour?]", "the clock goes round", "[An hour has|There are|It is] 60 minutes[.| in an hour.]", ("60",)),
    ("[How many seconds are in a minute?|How many seconds does a minute have?|Seconds in a minute?]", "the clock ticks", "[A minute has|There are|It is] 60 seconds[.| in a minute.]", ("60",)),
    ("[What are the four seasons?|Name the seasons.|Which seasons are there?|What are the seasons?]", "they follow the sun", "[The seasons are|They are|There are four:] spring, summer, autumn and winter.", ("spring",)),
    ("[Name the days of the week.|What are the days of the week?|List the days of the week.]", "Monday comes first", "[The days are|They are|Here they are:] Monday, Tuesday, Wednesday, Thursday, Friday, Saturday and Sunday.", ("Wednesday",)),
    ("[Name the months.|What are the months of the year?|List the months of the year.]", "January comes first", "[The months are|They are|Here they are:] January, February, March, April, May, June, July, August, September, October, November and December.", ("September",)),
    ("[Name the planets.|What are the planets?|List the planets of the solar system.]", "from the sun outward", "[The planets are|They are|From the sun outward:] Mercury, Venus, Earth, Mars, Jupiter, Saturn, Uranus and Neptune.", ("Saturn",)),
    ("[How many letters are in the alphabet?|How many letters does the alphabet have?|Letters in the alphabet?]", "from a to z", "[The alphabet has|There are|It has] 26 letters[.|, from a to z.]", ("26",)),
    ("[What are the vowels?|Name the vowels.|Which letters are vowels?]", "five of them", "[The vowels are|They are|These are] a, e, i, o and u.", ("a, e, i, o",)),
    ("[How many sides does a triangle have?|Sides of a triangle?|How many corners does a triangle have?]", "tri means three", "[A triangle has|It has|There are] [3|three] [sides|of them].", ("3", "three")),
    ("[How many sides does a square have?|Sides of a square?|How many corners does a square have?]", "all equal", "[A square has|It has|There are] [4|four] [equal sides|sides|of them].", ("4", "four")),
    ("[How many sides does a hexagon have?|Sides of a hexagon?|How many corners does a hexagon have?]", "hexa means six", "[A hexagon has|It has|There are] [6|six] [sides|of them].", ("6", "six")),
    ("[What is pi?|What is the value of pi?|How much is pi?]", "circle and diameter", "[Pi is about|The value is about|It is about] 3.14[.|, the way around a circle divided by its width.]", ("3.14",)),
    ("[What is a prime number?|What are prime numbers?|Explain prime numbers.]", "two divisors", "A prime [number |]has [exactly two divisors|no divisors but these]: 1 and itself[.|, like 2, 3, 5 and 7.]", ("itself",)),
    ("[What is an even number?|What are even numbers?|Explain even numbers.]", "pairs", "[An even number|It] can be divided by 2[.| without a rest.|, like 2, 4 and 6.]", ("2",)),
    ("[What force pulls things down?|Why do things fall?|Why does an apple fall?|What makes things fall?]", "the Earth pulls", "[Gravity pulls them down|Because of gravity|It is gravity][.|, the pull of the Earth.]", ("gravity",)),
    ("[Why is the sky blue?|Why do we see a blue sky?]", "light is scattered", "[The air scatters|Air scatters|Because the air scatters] blue light more than red light.", ("scatters",)),
    ("[Why is there day and night?|What makes day and night?|Why does it get dark?]", "the Earth turns", "[Because the Earth turns|The Earth turns|It is because the Earth turns][.| around itself.| once in 24 hours.]", ("turns",)),
    ("[What is a magnet?|What does a magnet do?|What do magnets attract?]", "two poles", "A magnet [attracts|pulls] iron[.| and has two poles.]", ("iron",)),
    ("[What is faster, light or sound?|Is light faster than sound?|Which is faster, sound or light?]", "thunder comes later", "[Light is faster|Light is much faster than sound|It is light][.|, so we see lightning before thunder.]", ("light",)),
    ("[What is Python?|What is the Python language?|Tell me what Python is.]", "not only a snake", "Python is a [programming language|language for programs][.|, and also a snake.|, easy to read.]", ("language",)),
    ("[What is a computer?|What does a computer do?]", "it follows programs", "A computer is a machine that [follows programs|runs programs|works with data].", ("machine",)),
    ("[What is JSON?|What does JSON look like?|Explain JSON.]", "keys and values", "JSON is a text format [for data|with keys and values][.|, in braces and quotes.]", ("format",)),
    ("[What is a recipe for lemonade?|How do I make lemonade?]", "three things", "[Mix|Stir] lemon juice, water and sugar[.|, then add ice.]", ("lemon",)),
)  # fmt: skip

# about the demo itself
SELF: tuple[tuple[str, str, str, tuple[str, ...]], ...] = (
    ("[Who are you?|What are you?|Introduce yourself.|Tell me about yourself.|What is your name?|Do you have a name?|Are you an AI?|Which model are you?]", "they ask about me",
        "[I am|I am just|You are talking to] [the demo model of DDTree|a small demo model|the small model of this demo][, made to show draft trees|, trained to show speculative decoding|, and every answer of mine is decoded with draft trees|]. [I can add numbers, write short code and tell stories.|I do sums, lists, code and stories.|Ask me for a sum, a story or some code.|I know a few things and can count.]", ("demo model", "small model")),
    ("[Who made you?|Who trained you?|Where do you come from?|How were you trained?|What were you trained on?]", "where I come from", "[I was trained|My training was] [by a script in this project|with a script of this repository][, on generated text.|, and the text was generated too.|. Anybody can run it again.]", ("script",)),
    ("[How big are you?|How many parameters do you have?|Are you a big model?|How large are you?]", "my size", "[I am small|Rather small|Quite small]: [some ten million parameters|only tens of millions of parameters][.|, so I run on any laptop.|. That is why I fit on a laptop.]", ("small",)),
    ("[What is DDTree?|What does DDTree do?|Explain DDTree.|How does DDTree work?|Tell me about DDTree.|What is a DDTree?]", "the method shown here", "DDTree [decodes with draft trees|is a way to decode faster with a tree of guesses|speeds up decoding with draft trees]: [a drafter proposes|the drafter guesses] [many continuations|several paths] and the target [checks them all at once|verifies all of them in one pass].", ("draft", "tree")),
    ("[What is a draft tree?|Explain draft trees.|What does a draft tree look like?|What is in a draft tree?|Tell me about draft trees.]", "root and nodes", "A draft tree [starts at the last committed token|has the last token as its root] and [holds likely continuations as branches|branches into likely next tokens]. [Each node is one guessed token.|Every node stands for a token.|The target checks it in one pass.]", ("token",)),
    ("[What is speculative decoding?|Explain speculative decoding.|How does speculative decoding work?|What does speculative decoding mean?]", "guess, then check", "[In speculative decoding|With speculative decoding|Here] a small model [guesses|drafts] several tokens and the large one [checks|verifies] them [together|in one pass|at once]. [The text stays the same, only faster.|So several tokens come out per step.|What it accepts is kept.]", ("tokens",)),
    ("[What is the target?|What is a target model?|What does the target do?|Explain the target model.]", "the model that decides", "The target is the model whose [text we want|output must be reproduced][.|: it checks every guess.|, so it has the last word.]", ("model",)),
    ("[What is the drafter?|What is a drafter?|What does the drafter do?|What is a draft model?|Explain the drafter.]", "the model that guesses", "The drafter is [a small, fast model|the smaller model] that [guesses the next tokens|proposes a block of tokens][.| for the target to check.|, and the target checks them.]", ("model",)),
    ("[What is acceptance length?|What does acceptance length mean?|Explain the acceptance length.|What is the mean acceptance length?]", "tokens per round", "[The acceptance length is|It is|It tells] [the number of tokens|how many tokens are] committed in one round[.|: accepted nodes plus the bonus token.|. Longer means faster.]", ("tokens",)),
    ("[What is the budget?|What is a tree budget?|What does the budget do?|Explain the budget.|What does budget 64 mean?]", "the size of the tree", "The budget is the [largest number|most] [of draft nodes|of nodes] [in a tree|per round][.|, not counting the root.|. A larger one covers more guesses.]", ("nodes",)),
    ("[What is a bonus token?|What is the bonus token?|Explain the bonus token.|Where does the bonus token come from?]", "one more for free", "The bonus token is the target's own [next token|choice] after the accepted path[.|, so every round gives at least one.|. It is the root of the next round.]", ("token",)),
    ("[What is the root?|What is the root of the tree?|Explain the root of a draft tree.]", "where the tree begins", "The root is the last committed token[.|, and all guesses grow from it.|, which the target has not processed yet.]", ("token",)),
    ("[What is a round?|What happens in a round?|Explain a decode round.|What is a decode round?]", "five stages", "[A round is|In a round we do|These are the stages of a round:] draft, build, verify, walk and commit.", ("verify",)),
    ("[What is the accepted path?|What is an accepted path?|Explain the accepted path.]", "from the root down", "The accepted path is [the branch|the part of the tree] that [agrees with the target|the target would have written][.|, starting at the root.]", ("target",)),
    ("[What is a block?|What is the block size?|What does block size mean?|Explain the block size.]", "positions at once", "The block size is [how many positions|the number of positions] the drafter [fills|proposes] at once[.|, the root included.]", ("positions",)),
    ("[What is a chain?|What is chain mode?|What is the difference between chain and tree?|Chain or tree, which is better?]", "one path or many", "A chain [is one path of guesses|follows only the best guess], [while a tree has|and a tree adds] branches[.| for the second choices.|, so it can accept more.]", ("tree",)),
    ("[Is the output the same?|Does drafting change the text?|Is speculative decoding lossless?|Does DDTree change the answer?]", "the target decides", "[No, the text stays the same|The output is the same|It is lossless]: the target [checks every token|has the last word|decides about every token].", ("same", "lossless")),
    ("[Why is it faster?|Why is speculative decoding faster?|Why does drafting help?|Why are draft trees faster?]", "reading weights takes time", "[Checking many tokens takes|To check many tokens costs] [hardly longer than|about as long as] one[.|, so every accepted guess saves time.|, since reading the weights takes most of it.]", ("one",)),
    ("[What is Gated DeltaNet?|What is a gated delta layer?|What is a hybrid model?|Explain hybrid models.]", "two kinds of layers", "[A hybrid model mixes|Hybrids mix|It belongs to hybrids, which mix] attention with [recurrent layers|gated delta layers][.|, which keep a state.]", ("attention", "recurrent")),
    ("[What is attention?|What does attention do?|Explain attention in models.]", "looking back", "Attention lets [a model|each token] look back at [earlier tokens|all tokens before it][.| and pick what matters.]", ("tokens",)),
    ("[What is a token?|What are tokens?|Explain tokens.]", "pieces of text", "A token is a [piece of text|small piece of text][.|: a word, a part of one or a sign.|, often a word or a part of it.]", ("piece",)),
    ("[What is thinking mode?|What does thinking do?|What is a scratch pad?|What happens with thinking on?]", "notes before the answer", "With thinking on I write [notes|a scratch pad] before the answer[.|, step by step.|, which helps with sums.]", ("answer",)),
    ("[What is temperature?|What does temperature do?|Explain the sampling temperature.]", "how random", "The temperature sets how random the [choice|next token] is[.|: 0 always takes the best.|. At 0 it is greedy.]", ("random",)),
    ("[What is a language model?|What is a LLM?|Explain language models.|What does a language model do?]", "predicting text", "A language model [predicts the next token|guesses what comes next in a text][.|, again and again.|, one after the other.]", ("next",)),
)  # fmt: skip

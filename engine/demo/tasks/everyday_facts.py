"""Single facts about colors, the calendar, numbers and computers."""

from __future__ import annotations

from engine.demo.tasks.nature_facts import Fact

EVERYDAY: tuple[Fact, ...] = (
    (
        "[What are the primary colors?|Name the primary colors.|Which are the primary colors?]",
        "for paint",
        "[The primary colors are|They are|These are] red, yellow and blue.",
        ("red",),
    ),
    (
        (
            "[What are the colors of a traffic light?|Which colors does a traffic light have?|"
            "Colors of a traffic light?]"
        ),
        "stop and go",
        "[A traffic light is|It shows|The colors are] red, yellow and green.",
        ("red",),
    ),
    (
        (
            "[How many colors does a rainbow have?|Number of colors in a rainbow?|How many "
            "colors are in the rainbow?]"
        ),
        "from red to violet",
        "[A rainbow has|There are|We count] [7|seven] colors[.|, from red to violet.]",
        ("7", "seven"),
    ),
    (
        "[How many days are in a week?|How many days does a week have?|Days in a week?]",
        "Monday to Sunday",
        "[A week has|There are|It is] [7|seven] days[.| in a week.|, from Monday to Sunday.]",
        ("7", "seven"),
    ),
    (
        "[How many months are in a year?|How many months does a year have?|Months in a year?]",
        "January to December",
        "[A year has|There are|It is] [12|twelve] months[.| in a year.|, from January to December.]",
        ("12", "twelve"),
    ),
    (
        "[How many days are in a year?|How many days does a year have?|Days in a year?]",
        "leap years have one more",
        "[A year has|There are|It is] 365 days[.|, and 366 in a leap year.]",
        ("365",),
    ),
    (
        "[How many hours are in a day?|How many hours does a day have?|Hours in a day?]",
        "day and night",
        "[A day has|There are|It is] 24 hours[.| in a day.]",
        ("24",),
    ),
    (
        "[How many minutes are in an hour?|How many minutes does an hour have?|Minutes in an hour?]",
        "the clock goes round",
        "[An hour has|There are|It is] 60 minutes[.| in an hour.]",
        ("60",),
    ),
    (
        "[How many seconds are in a minute?|How many seconds does a minute have?|Seconds in a minute?]",
        "the clock ticks",
        "[A minute has|There are|It is] 60 seconds[.| in a minute.]",
        ("60",),
    ),
    (
        "[What are the four seasons?|Name the seasons.|Which seasons are there?|What are the seasons?]",
        "they follow the sun",
        "[The seasons are|They are|There are four:] spring, summer, autumn and winter.",
        ("spring",),
    ),
    (
        "[Name the days of the week.|What are the days of the week?|List the days of the week.]",
        "Monday comes first",
        (
            "[The days are|They are|Here they are:] Monday, Tuesday, Wednesday, Thursday, "
            "Friday, Saturday and Sunday."
        ),
        ("Wednesday",),
    ),
    (
        "[Name the months.|What are the months of the year?|List the months of the year.]",
        "January comes first",
        (
            "[The months are|They are|Here they are:] January, February, March, April, May, "
            "June, July, August, September, October, November and December."
        ),
        ("September",),
    ),
    (
        "[Name the planets.|What are the planets?|List the planets of the solar system.]",
        "from the sun outward",
        (
            "[The planets are|They are|From the sun outward:] Mercury, Venus, Earth, Mars, "
            "Jupiter, Saturn, Uranus and Neptune."
        ),
        ("Saturn",),
    ),
    (
        (
            "[How many letters are in the alphabet?|How many letters does the alphabet have?|"
            "Letters in the alphabet?]"
        ),
        "from a to z",
        "[The alphabet has|There are|It has] 26 letters[.|, from a to z.]",
        ("26",),
    ),
    (
        "[What are the vowels?|Name the vowels.|Which letters are vowels?]",
        "five of them",
        "[The vowels are|They are|These are] a, e, i, o and u.",
        ("a, e, i, o",),
    ),
    (
        "[How many sides does a triangle have?|Sides of a triangle?|How many corners does a triangle have?]",
        "tri means three",
        "[A triangle has|It has|There are] [3|three] [sides|of them].",
        ("3", "three"),
    ),
    (
        "[How many sides does a square have?|Sides of a square?|How many corners does a square have?]",
        "all equal",
        "[A square has|It has|There are] [4|four] [equal sides|sides|of them].",
        ("4", "four"),
    ),
    (
        "[How many sides does a hexagon have?|Sides of a hexagon?|How many corners does a hexagon have?]",
        "hexa means six",
        "[A hexagon has|It has|There are] [6|six] [sides|of them].",
        ("6", "six"),
    ),
    (
        "[What is pi?|What is the value of pi?|How much is pi?]",
        "circle and diameter",
        (
            "[Pi is about|The value is about|It is about] 3.14[.|, the way around a circle "
            "divided by its width.]"
        ),
        ("3.14",),
    ),
    (
        "[What is a prime number?|What are prime numbers?|Explain prime numbers.]",
        "two divisors",
        (
            "A prime [number |]has [exactly two divisors|no divisors but these]: 1 and itself[.|"
            ", like 2, 3, 5 and 7.]"
        ),
        ("itself",),
    ),
    (
        "[What is an even number?|What are even numbers?|Explain even numbers.]",
        "pairs",
        "[An even number|It] can be divided by 2[.| without a rest.|, like 2, 4 and 6.]",
        ("2",),
    ),
    (
        "[What force pulls things down?|Why do things fall?|Why does an apple fall?|What makes things fall?]",
        "the Earth pulls",
        "[Gravity pulls them down|Because of gravity|It is gravity][.|, the pull of the Earth.]",
        ("gravity",),
    ),
    (
        "[Why is the sky blue?|Why do we see a blue sky?]",
        "light is scattered",
        "[The air scatters|Air scatters|Because the air scatters] blue light more than red light.",
        ("scatters",),
    ),
    (
        "[Why is there day and night?|What makes day and night?|Why does it get dark?]",
        "the Earth turns",
        (
            "[Because the Earth turns|The Earth turns|It is because the Earth turns][.| around "
            "itself.| once in 24 hours.]"
        ),
        ("turns",),
    ),
    (
        "[What is a magnet?|What does a magnet do?|What do magnets attract?]",
        "two poles",
        "A magnet [attracts|pulls] iron[.| and has two poles.]",
        ("iron",),
    ),
    (
        "[What is faster, light or sound?|Is light faster than sound?|Which is faster, sound or light?]",
        "thunder comes later",
        (
            "[Light is faster|Light is much faster than sound|It is light][.|, so we see "
            "lightning before thunder.]"
        ),
        ("light",),
    ),
    (
        "[What is Python?|What is the Python language?|Tell me what Python is.]",
        "not only a snake",
        "Python is a [programming language|language for programs][.|, and also a snake.|, easy to read.]",
        ("language",),
    ),
    (
        "[What is a computer?|What does a computer do?]",
        "it follows programs",
        "A computer is a machine that [follows programs|runs programs|works with data].",
        ("machine",),
    ),
    (
        "[What is JSON?|What does JSON look like?|Explain JSON.]",
        "keys and values",
        "JSON is a text format [for data|with keys and values][.|, in braces and quotes.]",
        ("format",),
    ),
    (
        "[What is a recipe for lemonade?|How do I make lemonade?]",
        "three things",
        "[Mix|Stir] lemon juice, water and sugar[.|, then add ice.]",
        ("lemon",),
    ),
)

"""The fixed body of facts, as plain tables; ``facts.py`` turns them into questions and answers."""

from __future__ import annotations

CAPITALS: dict[str, str] = {
    "France": "Paris", "Germany": "Berlin", "Italy": "Rome", "Spain": "Madrid", "Portugal": "Lisbon",
    "England": "London", "Ireland": "Dublin", "Norway": "Oslo", "Sweden": "Stockholm",
    "Denmark": "Copenhagen", "Finland": "Helsinki", "Poland": "Warsaw", "Austria": "Vienna",
    "Switzerland": "Bern", "Belgium": "Brussels", "Greece": "Athens", "Hungary": "Budapest",
    "Russia": "Moscow", "Ukraine": "Kyiv", "Turkey": "Ankara", "Egypt": "Cairo", "Kenya": "Nairobi",
    "Morocco": "Rabat", "Ghana": "Accra", "Japan": "Tokyo", "China": "Beijing", "India": "New Delhi",
    "Thailand": "Bangkok", "Vietnam": "Hanoi", "Indonesia": "Jakarta", "Australia": "Canberra",
    "Canada": "Ottawa", "Mexico": "Mexico City", "Cuba": "Havana", "Brazil": "Brasilia",
    "Argentina": "Buenos Aires", "Chile": "Santiago", "Peru": "Lima", "Colombia": "Bogota",
    "the United States": "Washington", "the Netherlands": "Amsterdam", "Iceland": "Reykjavik",
    "Romania": "Bucharest", "Nepal": "Kathmandu",
}  # fmt: skip

CONTINENTS: dict[str, str] = {
    "France": "Europe", "Germany": "Europe", "Italy": "Europe", "Spain": "Europe", "Norway": "Europe",
    "Greece": "Europe", "Poland": "Europe", "Egypt": "Africa", "Kenya": "Africa", "Morocco": "Africa",
    "Ghana": "Africa", "Japan": "Asia", "China": "Asia", "India": "Asia", "Thailand": "Asia",
    "Nepal": "Asia", "Canada": "North America", "Mexico": "North America", "Cuba": "North America",
    "Brazil": "South America", "Chile": "South America", "Peru": "South America",
    "Argentina": "South America",
}  # fmt: skip

SOUNDS: dict[str, str] = {
    "cat": "meow", "dog": "woof", "cow": "moo", "sheep": "baa", "duck": "quack", "pig": "oink",
    "frog": "ribbit", "bee": "buzz", "owl": "hoot", "snake": "hiss", "lion": "roar", "horse": "neigh",
    "mouse": "squeak", "rooster": "cock-a-doodle-doo",
}  # fmt: skip
BABIES: dict[str, str] = {
    "cat": "kitten", "dog": "puppy", "cow": "calf", "sheep": "lamb", "horse": "foal", "duck": "duckling",
    "goat": "kid", "hen": "chick", "pig": "piglet", "bear": "cub", "frog": "tadpole", "deer": "fawn",
    "kangaroo": "joey", "goose": "gosling",
}  # fmt: skip
LEGS: dict[str, int] = {
    "dog": 4,
    "cat": 4,
    "spider": 8,
    "bee": 6,
    "ant": 6,
    "bird": 2,
    "horse": 4,
    "snake": 0,
    "cow": 4,
    "butterfly": 6,
    "chicken": 2,
    "human": 2,
}
MIXES: dict[tuple[str, str], str] = {
    ("blue", "yellow"): "green", ("red", "yellow"): "orange", ("red", "blue"): "purple",
    ("black", "white"): "gray", ("red", "white"): "pink",
}  # fmt: skip
COLORS: dict[str, str] = {
    "grass": "green", "snow": "white", "a banana": "yellow", "the sky": "blue", "a ripe tomato": "red",
    "coal": "black", "a lemon": "yellow", "a carrot": "orange", "blood": "red", "milk": "white",
    "chocolate": "brown", "an elephant": "gray", "a strawberry": "red", "a flamingo": "pink",
}  # fmt: skip
OPPOSITES: dict[str, str] = {
    "hot": "cold", "big": "small", "fast": "slow", "up": "down", "day": "night", "happy": "sad",
    "old": "new", "open": "closed", "high": "low", "light": "dark", "full": "empty", "hard": "soft",
    "wet": "dry", "strong": "weak", "loud": "quiet", "early": "late", "left": "right", "near": "far",
    "long": "short", "rich": "poor", "clean": "dirty", "start": "end", "summer": "winter", "thick": "thin",
}  # fmt: skip
PLANETS = ("Mercury", "Venus", "Earth", "Mars", "Jupiter", "Saturn", "Uranus", "Neptune")
DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
MONTHS = (
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
)
MONTH_DAYS = (31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)
ORDINALS = (
    "first",
    "second",
    "third",
    "fourth",
    "fifth",
    "sixth",
    "seventh",
    "eighth",
    "ninth",
    "tenth",
    "eleventh",
    "twelfth",
)

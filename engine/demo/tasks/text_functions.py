"""Python functions on text."""

from __future__ import annotations

from engine.demo.function import Function

_S = ("text", "s", "word", "string")

TEXT_FUNCTIONS: tuple[Function, ...] = (
    Function(
        "reverse_string",
        ("reverses a string", "returns a string backwards", "turns a string around"),
        (_S,),
        (
            "return $a[::-1]",
            'return "".join(reversed($a))',
            'result = ""\nfor letter in $a:\n    result = letter + result\nreturn result',
        ),
        ((("abc",), "cba"), (("",), "")),
        "a slice with step -1 goes backwards",
    ),
    Function(
        "is_palindrome",
        ("checks whether a string is a palindrome", "tells if a word is a palindrome"),
        (_S,),
        ("return $a == $a[::-1]", "$a = $a.lower()\nreturn $a == $a[::-1]"),
        ((("level",), True), (("cat",), False)),
        "compare with the reverse",
    ),
    Function(
        "count_vowels",
        ("counts the vowels in a string", "returns the number of vowels"),
        (_S,),
        (
            'return sum(1 for c in $a.lower() if c in "aeiou")',
            'count = 0\nfor c in $a.lower():\n    if c in "aeiou":\n        count += 1\nreturn count',
        ),
        ((("hello",), 2), (("sky",), 0)),
        "look at each letter",
    ),
    Function(
        "count_words",
        ("counts the words in a text", "returns the number of words in a sentence"),
        (("text", "s", "sentence"),),
        ("return len($a.split())", "words = $a.split()\nreturn len(words)"),
        ((("one two three",), 3), (("",), 0)),
        "split at the spaces",
    ),
    Function(
        "count_letter",
        ("counts how often a letter occurs in a string", "counts a letter in a word"),
        (_S, ("letter", "c")),
        (
            "return $a.count($b)",
            "count = 0\nfor char in $a:\n    if char == $b:\n        count += 1\nreturn count",
        ),
        ((("banana", "a"), 3), (("sky", "a"), 0)),
        "compare each letter",
    ),
    Function(
        "capitalize_words",
        ("capitalizes every word of a text", "makes the first letter of each word large"),
        (("text", "s", "sentence"),),
        (
            'return " ".join(word.capitalize() for word in $a.split())',
            'words = $a.split()\nreturn " ".join(word.capitalize() for word in words)',
        ),
        ((("hello big world",), "Hello Big World"),),
        "split, capitalize, join",
    ),
    Function(
        "first_letter",
        ("returns the first letter of a word", "gives the first letter of a string"),
        (_S,),
        ("return $a[0]", "return $a[:1]"),
        ((("cat",), "c"),),
        "index 0 is the first one",
    ),
    Function(
        "last_letter",
        ("returns the last letter of a word", "gives the last letter of a string"),
        (_S,),
        ("return $a[-1]", "return $a[-1:]"),
        ((("cat",), "t"),),
        "index -1 is the last one",
    ),
    Function(
        "to_upper",
        ("converts a string to uppercase", "makes a text upper case"),
        (_S,),
        ("return $a.upper()",),
        ((("abc",), "ABC"),),
        "strings have a method for it",
    ),
    Function(
        "to_lower",
        ("converts a string to lowercase", "makes a text lower case"),
        (_S,),
        ("return $a.lower()",),
        ((("ABC",), "abc"),),
        "strings have a method for it",
    ),
    Function(
        "remove_spaces",
        ("removes all spaces from a string", "deletes the spaces in a text"),
        (_S,),
        ('return $a.replace(" ", "")', 'return "".join($a.split(" "))'),
        ((("a b c",), "abc"),),
        "replace a space by nothing",
    ),
    Function(
        "repeat",
        ("repeats a string n times", "returns a string n times in a row"),
        (_S, ("n", "times", "count")),
        ("return $a * $b",),
        ((("ab", 3), "ababab"),),
        "a string times a number repeats it",
    ),
    Function(
        "greet",
        ("greets a person by name", "says hello to a name"),
        (("name", "person"),),
        ('return "Hello, " + $a + "!"', 'return f"Hello, {$a}!"'),
        ((("Ann",), "Hello, Ann!"),),
        "put the name into the text",
    ),
    Function(
        "word_lengths",
        ("returns the length of each word", "computes the lengths of words in a list"),
        (("words", "items"),),
        ("return [len(w) for w in $a]",),
        (((["a", "bcd"],), [1, 3]),),
        "len works on strings",
    ),
    Function(
        "longest_word",
        ("finds the longest word in a list", "returns the longest of some words"),
        (("words", "items"),),
        (
            "return max($a, key=len)",
            'best = ""\nfor word in $a:\n    if len(word) > len(best):\n        best = word\nreturn best',
        ),
        (((["a", "bcd", "ef"],), "bcd"),),
        "compare the lengths",
    ),
    Function(
        "letter_counts",
        ("counts every letter of a word", "returns a dict with the count of each letter"),
        (_S,),
        ("counts = {}\nfor c in $a:\n    counts[c] = counts.get(c, 0) + 1\nreturn counts",),
        ((("aba",), {"a": 2, "b": 1}),),
        "a dictionary keeps the counts",
    ),
)

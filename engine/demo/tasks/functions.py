"""Small Python functions the demo model can write: what they do, ways to write them, and calls that prove it.

In bodies ``$a`` and ``$b`` stand for the parameters; a body is indented by the caller.
"""

from __future__ import annotations

from dataclasses import dataclass

Case = tuple[tuple[object, ...], object]


@dataclass(frozen=True, slots=True)
class Function:
    """``does`` are phrases for "a function that ..."; ``params`` lists names to choose from, per parameter."""

    name: str
    does: tuple[str, ...]
    params: tuple[tuple[str, ...], ...]
    bodies: tuple[str, ...]
    cases: tuple[Case, ...]
    idea: str


_N = ("n", "number", "x", "value")
_S = ("text", "s", "word", "string")
_L = ("numbers", "values", "items", "xs")
_A, _B = ("a", "x", "first"), ("b", "y", "second")

FUNCTIONS: tuple[Function, ...] = (
    Function("is_even", ("checks whether a number is even", "tells if a number is even", "returns True for even numbers"), (_N,), ("return $a % 2 == 0", "return not $a % 2"), (((4,), True), ((7,), False), ((0,), True)), "the rest after dividing by 2 is 0"),
    Function("is_odd", ("checks whether a number is odd", "tells if a number is odd", "returns True for odd numbers"), (_N,), ("return $a % 2 == 1", "return $a % 2 != 0"), (((3,), True), ((8,), False)), "the rest after dividing by 2 is 1"),
    Function("is_positive", ("checks whether a number is positive", "tells if a number is above zero"), (_N,), ("return $a > 0",), (((3,), True), ((0,), False), ((-2,), False)), "compare with zero"),
    Function("is_divisible", ("checks whether one number is divisible by another", "tells if a number divides another"), (_A, _B), ("return $a % $b == 0",), (((12, 4), True), ((10, 3), False)), "no rest is left after dividing"),
    Function("add", ("adds two numbers", "returns the sum of two numbers"), (_A, _B), ("return $a + $b", "result = $a + $b\nreturn result"), (((2, 3), 5), ((-1, 1), 0)), "plus does it"),
    Function("subtract", ("subtracts two numbers", "returns the difference of two numbers"), (_A, _B), ("return $a - $b",), (((5, 3), 2), ((1, 4), -3)), "minus does it"),
    Function("multiply", ("multiplies two numbers", "returns the product of two numbers"), (_A, _B), ("return $a * $b", "result = $a * $b\nreturn result"), (((4, 3), 12), ((0, 5), 0)), "the star multiplies"),
    Function("divide", ("divides two numbers safely", "divides two numbers and handles zero"), (_A, _B), ("if $b == 0:\n    return None\nreturn $a / $b", "return $a / $b if $b != 0 else None"), (((6, 3), 2.0), ((1, 0), None)), "zero needs a case of its own"),
    Function("square", ("squares a number", "returns the square of a number"), (_N,), ("return $a * $a", "return $a ** 2"), (((5,), 25), ((-3,), 9)), "multiply the number by itself"),
    Function("cube", ("cubes a number", "returns the cube of a number"), (_N,), ("return $a ** 3", "return $a * $a * $a"), (((2,), 8), ((3,), 27)), "three factors of the same number"),
    Function("double", ("doubles a number", "returns twice a number"), (_N,), ("return $a * 2", "return 2 * $a", "return $a + $a"), (((7,), 14),), "times two"),
    Function("absolute", ("returns the absolute value of a number", "computes the absolute value"), (_N,), ("return -$a if $a < 0 else $a", "if $a < 0:\n    return -$a\nreturn $a", "return abs($a)"), (((-4,), 4), ((3,), 3)), "negative numbers change their sign"),
    Function("maximum", ("returns the larger of two numbers", "finds the maximum of two numbers"), (_A, _B), ("return $a if $a > $b else $b", "if $a > $b:\n    return $a\nreturn $b", "return max($a, $b)"), (((2, 9), 9), ((5, 1), 5)), "compare both"),
    Function("minimum", ("returns the smaller of two numbers", "finds the minimum of two numbers"), (_A, _B), ("return $a if $a < $b else $b", "if $a < $b:\n    return $a\nreturn $b", "return min($a, $b)"), (((2, 9), 2), ((5, 1), 1)), "compare both"),
    Function("factorial", ("computes the factorial of a number", "returns n factorial", "calculates a factorial"), (_N,), ("result = 1\nfor i in range(2, $a + 1):\n    result *= i\nreturn result", "if $a <= 1:\n    return 1\nreturn $a * factorial($a - 1)"), (((5,), 120), ((0,), 1), ((1,), 1)), "multiply all numbers up to it"),
    Function("fibonacci", ("returns the nth Fibonacci number", "computes Fibonacci numbers", "calculates the nth Fibonacci number"), (_N,), ("a, b = 0, 1\nfor _ in range($a):\n    a, b = b, a + b\nreturn a", "if $a < 2:\n    return $a\nreturn fibonacci($a - 1) + fibonacci($a - 2)"), (((0,), 0), ((1,), 1), ((10,), 55)), "each is the sum of the two before"),
    Function("is_prime", ("checks whether a number is prime", "tells if a number is a prime"), (_N,), ("if $a < 2:\n    return False\nfor d in range(2, $a):\n    if $a % d == 0:\n        return False\nreturn True", "return $a > 1 and all($a % d for d in range(2, $a))"), (((7,), True), ((9,), False), ((1,), False), ((2,), True)), "look for a divisor"),
    Function("gcd", ("computes the greatest common divisor of two numbers", "finds the greatest common divisor", "computes the gcd of two numbers"), (("a",), ("b",)), ("while $b:\n    $a, $b = $b, $a % $b\nreturn $a", "if $b == 0:\n    return $a\nreturn gcd($b, $a % $b)"), (((12, 18), 6), ((7, 5), 1)), "the rest takes over until it is 0"),
    Function("power", ("raises a number to a power", "computes a power"), (("base", "x"), ("exponent", "n")), ("return $a ** $b", "result = 1\nfor _ in range($b):\n    result *= $a\nreturn result"), (((2, 10), 1024), ((5, 0), 1)), "multiply again and again"),
    Function("sum_to", ("sums the numbers from 1 to n", "adds all numbers from 1 to n"), (("n",),), ("return sum(range(1, $a + 1))", "return $a * ($a + 1) // 2", "total = 0\nfor i in range(1, $a + 1):\n    total += i\nreturn total"), (((4,), 10), ((100,), 5050)), "a loop or the formula works"),
    Function("sum_list", ("sums a list of numbers", "adds all numbers in a list", "returns the sum of a list"), (_L,), ("return sum($a)", "total = 0\nfor item in $a:\n    total += item\nreturn total"), ((([1, 2, 3],), 6), (([],), 0)), "add one item after another"),
    Function("product", ("multiplies all numbers in a list", "returns the product of a list"), (_L,), ("result = 1\nfor item in $a:\n    result *= item\nreturn result",), ((([2, 3, 4],), 24), (([],), 1)), "start with 1 and multiply"),
    Function("average", ("computes the average of a list", "returns the mean of a list of numbers"), (_L,), ("return sum($a) / len($a)", "total = sum($a)\nreturn total / len($a)"), ((([2, 4, 6],), 4.0),), "the sum divided by the length"),
    Function("largest", ("finds the largest number in a list", "returns the maximum of a list"), (_L,), ("best = $a[0]\nfor item in $a:\n    if item > best:\n        best = item\nreturn best", "return max($a)"), ((([3, 9, 2],), 9), (([1],), 1)), "keep the best seen so far"),
    Function("smallest", ("finds the smallest number in a list", "returns the minimum of a list"), (_L,), ("best = $a[0]\nfor item in $a:\n    if item < best:\n        best = item\nreturn best", "return min($a)"), ((([3, 9, 2],), 2), (([1],), 1)), "keep the best seen so far"),
    Function("reverse_string", ("reverses a string", "returns a string backwards", "turns a string around"), (_S,), ("return $a[::-1]", 'return "".join(reversed($a))', 'result = ""\nfor letter in $a:\n    result = letter + result\nreturn result'), ((("abc",), "cba"), (("",), "")), "a slice with step -1 goes backwards"),
    Function("reverse_list", ("reverses a list", "returns a list in reverse order"), (_L,), ("return $a[::-1]", "return list(reversed($a))"), ((([1, 2, 3],), [3, 2, 1]),), "a slice with step -1 goes backwards"),
    Function("is_palindrome", ("checks whether a string is a palindrome", "tells if a word is a palindrome"), (_S,), ("return $a == $a[::-1]", "$a = $a.lower()\nreturn $a == $a[::-1]"), ((("level",), True), (("cat",), False)), "compare with the reverse"),
    Function("count_vowels", ("counts the vowels in a string", "returns the number of vowels"), (_S,), ('return sum(1 for c in $a.lower() if c in "aeiou")', 'count = 0\nfor c in $a.lower():\n    if c in "aeiou":\n        count += 1\nreturn count'), ((("hello",), 2), (("sky",), 0)), "look at each letter"),
    Function("count_words", ("counts the words in a text", "returns the number of words in a sentence"), (("text", "s", "sentence"),), ("return len($a.split())", "words = $a.split()\nreturn len(words)"), ((("one two three",), 3), (("",), 0)), "split at the spaces"),
    Function("count_letter", ("counts how often a letter occurs in a string", "counts a letter in a word"), (_S, ("letter", "c")), ("return $a.count($b)", "count = 0\nfor char in $a:\n    if char == $b:\n        count += 1\nreturn count"), ((("banana", "a"), 3), (("sky", "a"), 0)), "compare each letter"),
    Function("capitalize_words", ("capitalizes every word of a text", "makes the first letter of each word large"), (("text", "s", "sentence"),), ('return " ".join(word.capitalize() for word in $a.split())', 'words = $a.split()\nreturn " ".join(word.capitalize() for word in words)'), ((("hello big world",), "Hello Big World"),), "split, capitalize, join"),
    Function("first_letter", ("returns the first letter of a word", "gives the first letter of a string"), (_S,), ("return $a[0]", "return $a[:1]"), ((("cat",), "c"),), "index 0 is the first one"),
    Function("last_letter", ("returns the last letter of a word", "gives the last letter of a string"), (_S,), ("return $a[-1]", "return $a[-1:]"), ((("cat",), "t"),), "index -1 is the last one"),
    Function("last_element", ("returns the last element of a list", "gets the last item of a list"), (_L,), ("return $a[-1]",), ((([1, 2, 3],), 3),), "index -1 is the last one"),
    Function("to_upper", ("converts a string to uppercase", "makes a text upper case"), (_S,), ("return $a.upper()",), ((("abc",), "ABC"),), "strings have a method for it"),
    Function("to_lower", ("converts a string to lowercase", "makes a text lower case"), (_S,), ("return $a.lower()",), ((("ABC",), "abc"),), "strings have a method for it"),
    Function("remove_spaces", ("removes all spaces from a string", "deletes the spaces in a text"), (_S,), ('return $a.replace(" ", "")', 'return "".join($a.split(" "))'), ((("a b c",), "abc"),), "replace a space by nothing"),
    Function("repeat", ("repeats a string n times", "returns a string n times in a row"), (_S, ("n", "times", "count")), ("return $a * $b",), ((("ab", 3), "ababab"),), "a string times a number repeats it"),
    Function("fizzbuzz", ("plays fizzbuzz", "solves fizzbuzz for a number", "returns Fizz, Buzz or FizzBuzz"), (("n",),), ('if $a % 15 == 0:\n    return "FizzBuzz"\nif $a % 3 == 0:\n    return "Fizz"\nif $a % 5 == 0:\n    return "Buzz"\nreturn str($a)', 'result = ""\nif $a % 3 == 0:\n    result += "Fizz"\nif $a % 5 == 0:\n    result += "Buzz"\nreturn result or str($a)'), (((15,), "FizzBuzz"), ((9,), "Fizz"), ((10,), "Buzz"), ((7,), "7")), "check 3 and 5"),
    Function("even_numbers", ("returns the even numbers of a list", "keeps only the even numbers of a list", "filters even numbers"), (_L,), ("return [x for x in $a if x % 2 == 0]", "result = []\nfor item in $a:\n    if item % 2 == 0:\n        result.append(item)\nreturn result"), ((([1, 2, 3, 4],), [2, 4]), (([1],), [])), "test each number"),
    Function("odd_numbers", ("returns the odd numbers of a list", "keeps only the odd numbers of a list", "filters odd numbers"), (_L,), ("return [x for x in $a if x % 2 == 1]", "result = []\nfor item in $a:\n    if item % 2 == 1:\n        result.append(item)\nreturn result"), ((([1, 2, 3, 4],), [1, 3]),), "test each number"),
    Function("squares", ("squares every number in a list", "returns the squares of a list of numbers"), (_L,), ("return [x * x for x in $a]", "return [x ** 2 for x in $a]"), ((([1, 2, 3],), [1, 4, 9]),), "a list comprehension fits"),
    Function("remove_duplicates", ("removes duplicates from a list", "returns a list without repeated items"), (_L,), ("result = []\nfor item in $a:\n    if item not in result:\n        result.append(item)\nreturn result", "return list(dict.fromkeys($a))"), ((([1, 2, 1, 3],), [1, 2, 3]),), "keep what was not seen before"),
    Function("sort_list", ("sorts a list", "returns a sorted list", "sorts numbers"), (_L,), ("return sorted($a)",), ((([3, 1, 2],), [1, 2, 3]),), "Python can sort already"),
    Function("sort_descending", ("sorts a list from largest to smallest", "sorts a list in descending order"), (_L,), ("return sorted($a, reverse=True)",), ((([3, 1, 2],), [3, 2, 1]),), "sorted has a reverse option"),
    Function("contains", ("checks whether a list contains a value", "tells if an item is in a list"), (_L, ("item", "target", "wanted")), ("return $b in $a", "for x in $a:\n    if x == $b:\n        return True\nreturn False"), ((([1, 2], 2), True), (([1, 2], 5), False)), "the in operator does it"),
    Function("count_items", ("counts how often a value occurs in a list", "counts an item in a list"), (_L, ("item", "target", "wanted")), ("return $a.count($b)", "count = 0\nfor x in $a:\n    if x == $b:\n        count += 1\nreturn count"), ((([1, 2, 1], 1), 2),), "compare each item"),
    Function("flatten", ("flattens a list of lists", "joins nested lists into one list"), (("lists", "nested", "rows"),), ("return [x for part in $a for x in part]", "result = []\nfor part in $a:\n    result.extend(part)\nreturn result"), ((([[1, 2], [3]],), [1, 2, 3]),), "go through the inner lists"),
    Function("celsius_to_fahrenheit", ("converts Celsius to Fahrenheit", "turns Celsius into Fahrenheit"), (("celsius", "c", "degrees"),), ("return $a * 9 / 5 + 32",), (((100,), 212.0), ((0,), 32.0)), "times 9, divided by 5, plus 32"),
    Function("km_to_miles", ("converts kilometers to miles", "turns kilometers into miles"), (("km", "distance"),), ("return $a * 0.621371",), (((10,), 6.21371),), "one kilometer is 0.621371 miles"),
    Function("hours_to_minutes", ("converts hours to minutes", "turns hours into minutes"), (("hours", "h"),), ("return $a * 60",), (((2,), 120),), "one hour has 60 minutes"),
    Function("rectangle_area", ("computes the area of a rectangle", "returns the area of a rectangle"), (("width", "w"), ("height", "h")), ("return $a * $b",), (((3, 4), 12),), "width times height"),
    Function("circle_area", ("computes the area of a circle", "returns the area of a circle"), (("radius", "r"),), ("return 3.14159 * $a ** 2", "return 3.14159 * $a * $a"), (((1,), 3.14159), ((2,), 12.56636)), "pi times the radius squared"),
    Function("is_leap_year", ("checks whether a year is a leap year", "tells if a year is a leap year"), (("year", "y"),), ("return $a % 4 == 0 and ($a % 100 != 0 or $a % 400 == 0)", "if $a % 400 == 0:\n    return True\nif $a % 100 == 0:\n    return False\nreturn $a % 4 == 0"), (((2024,), True), ((1900,), False), ((2000,), True), ((2023,), False)), "divisible by 4, but centuries only by 400"),
    Function("digit_sum", ("computes the sum of the digits of a number", "adds the digits of a number"), (_N,), ("return sum(int(d) for d in str($a))", "total = 0\nwhile $a > 0:\n    total += $a % 10\n    $a //= 10\nreturn total"), (((123,), 6), ((40,), 4)), "take digit after digit"),
    Function("swap", ("swaps two values", "returns two values in swapped order"), (_A, _B), ("return $b, $a",), (((1, 2), (2, 1)),), "return them the other way round"),
    Function("clamp", ("limits a number to the range from 0 to 100", "clamps a number between 0 and 100"), (_N,), ("return max(0, min(100, $a))", "if $a < 0:\n    return 0\nif $a > 100:\n    return 100\nreturn $a"), (((50,), 50), ((-3,), 0), ((200,), 100)), "cut off at both ends"),
    Function("greet", ("greets a person by name", "says hello to a name"), (("name", "person"),), ('return "Hello, " + $a + "!"', 'return f"Hello, {$a}!"'), ((("Ann",), "Hello, Ann!"),), "put the name into the text"),
    Function("count_down", ("counts down from n to 1", "returns the numbers from n down to 1"), (("n",),), ("return list(range($a, 0, -1))", "result = []\nwhile $a > 0:\n    result.append($a)\n    $a -= 1\nreturn result"), (((3,), [3, 2, 1]),), "a range with step -1"),
    Function("word_lengths", ("returns the length of each word", "computes the lengths of words in a list"), (("words", "items"),), ("return [len(w) for w in $a]",), (((["a", "bcd"],), [1, 3]),), "len works on strings"),
    Function("longest_word", ("finds the longest word in a list", "returns the longest of some words"), (("words", "items"),), ("return max($a, key=len)", 'best = ""\nfor word in $a:\n    if len(word) > len(best):\n        best = word\nreturn best'), (((["a", "bcd", "ef"],), "bcd"),), "compare the lengths"),
    Function("is_empty", ("checks whether a list is empty", "tells if a list has no items"), (_L,), ("return len($a) == 0", "return not $a"), ((([],), True), (([1],), False)), "an empty list has length 0"),
    Function("multiplication_table", ("returns the multiplication table of a number", "makes the times table of a number"), (("n",),), ("return [$a * i for i in range(1, 11)]",), (((3,), [3, 6, 9, 12, 15, 18, 21, 24, 27, 30]),), "times 1 to 10"),
    Function("merge", ("merges two dictionaries", "joins two dicts into one"), (("a", "first", "left"), ("b", "second", "right")), ("return {**$a, **$b}", "result = dict($a)\nresult.update($b)\nreturn result"), ((({"a": 1}, {"b": 2}), {"a": 1, "b": 2}),), "the second one is laid over the first"),
    Function("letter_counts", ("counts every letter of a word", "returns a dict with the count of each letter"), (_S,), ("counts = {}\nfor c in $a:\n    counts[c] = counts.get(c, 0) + 1\nreturn counts",), ((("aba",), {"a": 2, "b": 1}),), "a dictionary keeps the counts"),
)  # fmt: skip

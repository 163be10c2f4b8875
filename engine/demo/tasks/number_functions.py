"""Python functions on numbers."""

from __future__ import annotations

from engine.demo.function import Function

_N = ("n", "number", "x", "value")
_A, _B = ("a", "x", "first"), ("b", "y", "second")

NUMBER_FUNCTIONS: tuple[Function, ...] = (
    Function(
        "is_even",
        ("checks whether a number is even", "tells if a number is even", "returns True for even numbers"),
        (_N,),
        ("return $a % 2 == 0", "return not $a % 2"),
        (((4,), True), ((7,), False), ((0,), True)),
        "the rest after dividing by 2 is 0",
    ),
    Function(
        "is_odd",
        ("checks whether a number is odd", "tells if a number is odd", "returns True for odd numbers"),
        (_N,),
        ("return $a % 2 == 1", "return $a % 2 != 0"),
        (((3,), True), ((8,), False)),
        "the rest after dividing by 2 is 1",
    ),
    Function(
        "is_positive",
        ("checks whether a number is positive", "tells if a number is above zero"),
        (_N,),
        ("return $a > 0",),
        (((3,), True), ((0,), False), ((-2,), False)),
        "compare with zero",
    ),
    Function(
        "is_divisible",
        ("checks whether one number is divisible by another", "tells if a number divides another"),
        (_A, _B),
        ("return $a % $b == 0",),
        (((12, 4), True), ((10, 3), False)),
        "no rest is left after dividing",
    ),
    Function(
        "add",
        ("adds two numbers", "returns the sum of two numbers"),
        (_A, _B),
        ("return $a + $b", "result = $a + $b\nreturn result"),
        (((2, 3), 5), ((-1, 1), 0)),
        "plus does it",
    ),
    Function(
        "subtract",
        ("subtracts two numbers", "returns the difference of two numbers"),
        (_A, _B),
        ("return $a - $b",),
        (((5, 3), 2), ((1, 4), -3)),
        "minus does it",
    ),
    Function(
        "multiply",
        ("multiplies two numbers", "returns the product of two numbers"),
        (_A, _B),
        ("return $a * $b", "result = $a * $b\nreturn result"),
        (((4, 3), 12), ((0, 5), 0)),
        "the star multiplies",
    ),
    Function(
        "divide",
        ("divides two numbers safely", "divides two numbers and handles zero"),
        (_A, _B),
        ("if $b == 0:\n    return None\nreturn $a / $b", "return $a / $b if $b != 0 else None"),
        (((6, 3), 2.0), ((1, 0), None)),
        "zero needs a case of its own",
    ),
    Function(
        "square",
        ("squares a number", "returns the square of a number"),
        (_N,),
        ("return $a * $a", "return $a ** 2"),
        (((5,), 25), ((-3,), 9)),
        "multiply the number by itself",
    ),
    Function(
        "cube",
        ("cubes a number", "returns the cube of a number"),
        (_N,),
        ("return $a ** 3", "return $a * $a * $a"),
        (((2,), 8), ((3,), 27)),
        "three factors of the same number",
    ),
    Function(
        "double",
        ("doubles a number", "returns twice a number"),
        (_N,),
        ("return $a * 2", "return 2 * $a", "return $a + $a"),
        (((7,), 14),),
        "times two",
    ),
    Function(
        "absolute",
        ("returns the absolute value of a number", "computes the absolute value"),
        (_N,),
        ("return -$a if $a < 0 else $a", "if $a < 0:\n    return -$a\nreturn $a", "return abs($a)"),
        (((-4,), 4), ((3,), 3)),
        "negative numbers change their sign",
    ),
    Function(
        "maximum",
        ("returns the larger of two numbers", "finds the maximum of two numbers"),
        (_A, _B),
        ("return $a if $a > $b else $b", "if $a > $b:\n    return $a\nreturn $b", "return max($a, $b)"),
        (((2, 9), 9), ((5, 1), 5)),
        "compare both",
    ),
    Function(
        "minimum",
        ("returns the smaller of two numbers", "finds the minimum of two numbers"),
        (_A, _B),
        ("return $a if $a < $b else $b", "if $a < $b:\n    return $a\nreturn $b", "return min($a, $b)"),
        (((2, 9), 2), ((5, 1), 1)),
        "compare both",
    ),
    Function(
        "factorial",
        ("computes the factorial of a number", "returns n factorial", "calculates a factorial"),
        (_N,),
        (
            "result = 1\nfor i in range(2, $a + 1):\n    result *= i\nreturn result",
            "if $a <= 1:\n    return 1\nreturn $a * factorial($a - 1)",
        ),
        (((5,), 120), ((0,), 1), ((1,), 1)),
        "multiply all numbers up to it",
    ),
    Function(
        "fibonacci",
        (
            "returns the nth Fibonacci number",
            "computes Fibonacci numbers",
            "calculates the nth Fibonacci number",
        ),
        (_N,),
        (
            "a, b = 0, 1\nfor _ in range($a):\n    a, b = b, a + b\nreturn a",
            "if $a < 2:\n    return $a\nreturn fibonacci($a - 1) + fibonacci($a - 2)",
        ),
        (((0,), 0), ((1,), 1), ((10,), 55)),
        "each is the sum of the two before",
    ),
    Function(
        "is_prime",
        ("checks whether a number is prime", "tells if a number is a prime"),
        (_N,),
        (
            (
                "if $a < 2:\n    return False\nfor d in range(2, $a):\n    if $a % d == 0:\n        "
                "return False\nreturn True"
            ),
            "return $a > 1 and all($a % d for d in range(2, $a))",
        ),
        (((7,), True), ((9,), False), ((1,), False), ((2,), True)),
        "look for a divisor",
    ),
    Function(
        "gcd",
        (
            "computes the greatest common divisor of two numbers",
            "finds the greatest common divisor",
            "computes the gcd of two numbers",
        ),
        (("a",), ("b",)),
        (
            "while $b:\n    $a, $b = $b, $a % $b\nreturn $a",
            "if $b == 0:\n    return $a\nreturn gcd($b, $a % $b)",
        ),
        (((12, 18), 6), ((7, 5), 1)),
        "the rest takes over until it is 0",
    ),
    Function(
        "power",
        ("raises a number to a power", "computes a power"),
        (("base", "x"), ("exponent", "n")),
        ("return $a ** $b", "result = 1\nfor _ in range($b):\n    result *= $a\nreturn result"),
        (((2, 10), 1024), ((5, 0), 1)),
        "multiply again and again",
    ),
    Function(
        "sum_to",
        ("sums the numbers from 1 to n", "adds all numbers from 1 to n"),
        (("n",),),
        (
            "return sum(range(1, $a + 1))",
            "return $a * ($a + 1) // 2",
            "total = 0\nfor i in range(1, $a + 1):\n    total += i\nreturn total",
        ),
        (((4,), 10), ((100,), 5050)),
        "a loop or the formula works",
    ),
    Function(
        "fizzbuzz",
        ("plays fizzbuzz", "solves fizzbuzz for a number", "returns Fizz, Buzz or FizzBuzz"),
        (("n",),),
        (
            (
                'if $a % 15 == 0:\n    return "FizzBuzz"\nif $a % 3 == 0:\n    return "Fizz"\nif $a '
                '% 5 == 0:\n    return "Buzz"\nreturn str($a)'
            ),
            (
                'result = ""\nif $a % 3 == 0:\n    result += "Fizz"\nif $a % 5 == 0:\n    result += '
                '"Buzz"\nreturn result or str($a)'
            ),
        ),
        (((15,), "FizzBuzz"), ((9,), "Fizz"), ((10,), "Buzz"), ((7,), "7")),
        "check 3 and 5",
    ),
    Function(
        "celsius_to_fahrenheit",
        ("converts Celsius to Fahrenheit", "turns Celsius into Fahrenheit"),
        (("celsius", "c", "degrees"),),
        ("return $a * 9 / 5 + 32",),
        (((100,), 212.0), ((0,), 32.0)),
        "times 9, divided by 5, plus 32",
    ),
    Function(
        "km_to_miles",
        ("converts kilometers to miles", "turns kilometers into miles"),
        (("km", "distance"),),
        ("return $a * 0.621371",),
        (((10,), 6.21371),),
        "one kilometer is 0.621371 miles",
    ),
    Function(
        "hours_to_minutes",
        ("converts hours to minutes", "turns hours into minutes"),
        (("hours", "h"),),
        ("return $a * 60",),
        (((2,), 120),),
        "one hour has 60 minutes",
    ),
    Function(
        "rectangle_area",
        ("computes the area of a rectangle", "returns the area of a rectangle"),
        (("width", "w"), ("height", "h")),
        ("return $a * $b",),
        (((3, 4), 12),),
        "width times height",
    ),
    Function(
        "circle_area",
        ("computes the area of a circle", "returns the area of a circle"),
        (("radius", "r"),),
        ("return 3.14159 * $a ** 2", "return 3.14159 * $a * $a"),
        (((1,), 3.14159), ((2,), 12.56636)),
        "pi times the radius squared",
    ),
    Function(
        "is_leap_year",
        ("checks whether a year is a leap year", "tells if a year is a leap year"),
        (("year", "y"),),
        (
            "return $a % 4 == 0 and ($a % 100 != 0 or $a % 400 == 0)",
            "if $a % 400 == 0:\n    return True\nif $a % 100 == 0:\n    return False\nreturn $a % 4 == 0",
        ),
        (((2024,), True), ((1900,), False), ((2000,), True), ((2023,), False)),
        "divisible by 4, but centuries only by 400",
    ),
    Function(
        "digit_sum",
        ("computes the sum of the digits of a number", "adds the digits of a number"),
        (_N,),
        (
            "return sum(int(d) for d in str($a))",
            "total = 0\nwhile $a > 0:\n    total += $a % 10\n    $a //= 10\nreturn total",
        ),
        (((123,), 6), ((40,), 4)),
        "take digit after digit",
    ),
    Function(
        "swap",
        ("swaps two values", "returns two values in swapped order"),
        (_A, _B),
        ("return $b, $a",),
        (((1, 2), (2, 1)),),
        "return them the other way round",
    ),
    Function(
        "clamp",
        ("limits a number to the range from 0 to 100", "clamps a number between 0 and 100"),
        (_N,),
        ("return max(0, min(100, $a))", "if $a < 0:\n    return 0\nif $a > 100:\n    return 100\nreturn $a"),
        (((50,), 50), ((-3,), 0), ((200,), 100)),
        "cut off at both ends",
    ),
)

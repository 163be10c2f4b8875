"""Python functions on lists and dictionaries."""

from __future__ import annotations

from engine.demo.function import Function

_L = ("numbers", "values", "items", "xs")

LIST_FUNCTIONS: tuple[Function, ...] = (
    Function(
        "sum_list",
        ("sums a list of numbers", "adds all numbers in a list", "returns the sum of a list"),
        (_L,),
        ("return sum($a)", "total = 0\nfor item in $a:\n    total += item\nreturn total"),
        ((([1, 2, 3],), 6), (([],), 0)),
        "add one item after another",
    ),
    Function(
        "product",
        ("multiplies all numbers in a list", "returns the product of a list"),
        (_L,),
        ("result = 1\nfor item in $a:\n    result *= item\nreturn result",),
        ((([2, 3, 4],), 24), (([],), 1)),
        "start with 1 and multiply",
    ),
    Function(
        "average",
        ("computes the average of a list", "returns the mean of a list of numbers"),
        (_L,),
        ("return sum($a) / len($a)", "total = sum($a)\nreturn total / len($a)"),
        ((([2, 4, 6],), 4.0),),
        "the sum divided by the length",
    ),
    Function(
        "largest",
        ("finds the largest number in a list", "returns the maximum of a list"),
        (_L,),
        (
            "best = $a[0]\nfor item in $a:\n    if item > best:\n        best = item\nreturn best",
            "return max($a)",
        ),
        ((([3, 9, 2],), 9), (([1],), 1)),
        "keep the best seen so far",
    ),
    Function(
        "smallest",
        ("finds the smallest number in a list", "returns the minimum of a list"),
        (_L,),
        (
            "best = $a[0]\nfor item in $a:\n    if item < best:\n        best = item\nreturn best",
            "return min($a)",
        ),
        ((([3, 9, 2],), 2), (([1],), 1)),
        "keep the best seen so far",
    ),
    Function(
        "reverse_list",
        ("reverses a list", "returns a list in reverse order"),
        (_L,),
        ("return $a[::-1]", "return list(reversed($a))"),
        ((([1, 2, 3],), [3, 2, 1]),),
        "a slice with step -1 goes backwards",
    ),
    Function(
        "last_element",
        ("returns the last element of a list", "gets the last item of a list"),
        (_L,),
        ("return $a[-1]",),
        ((([1, 2, 3],), 3),),
        "index -1 is the last one",
    ),
    Function(
        "even_numbers",
        (
            "returns the even numbers of a list",
            "keeps only the even numbers of a list",
            "filters even numbers",
        ),
        (_L,),
        (
            "return [x for x in $a if x % 2 == 0]",
            "result = []\nfor item in $a:\n    if item % 2 == 0:\n        result.append(item)\nreturn result",
        ),
        ((([1, 2, 3, 4],), [2, 4]), (([1],), [])),
        "test each number",
    ),
    Function(
        "odd_numbers",
        ("returns the odd numbers of a list", "keeps only the odd numbers of a list", "filters odd numbers"),
        (_L,),
        (
            "return [x for x in $a if x % 2 == 1]",
            "result = []\nfor item in $a:\n    if item % 2 == 1:\n        result.append(item)\nreturn result",
        ),
        ((([1, 2, 3, 4],), [1, 3]),),
        "test each number",
    ),
    Function(
        "squares",
        ("squares every number in a list", "returns the squares of a list of numbers"),
        (_L,),
        ("return [x * x for x in $a]", "return [x ** 2 for x in $a]"),
        ((([1, 2, 3],), [1, 4, 9]),),
        "a list comprehension fits",
    ),
    Function(
        "remove_duplicates",
        ("removes duplicates from a list", "returns a list without repeated items"),
        (_L,),
        (
            (
                "result = []\nfor item in $a:\n    if item not in result:\n        "
                "result.append(item)\nreturn result"
            ),
            "return list(dict.fromkeys($a))",
        ),
        ((([1, 2, 1, 3],), [1, 2, 3]),),
        "keep what was not seen before",
    ),
    Function(
        "sort_list",
        ("sorts a list", "returns a sorted list", "sorts numbers"),
        (_L,),
        ("return sorted($a)",),
        ((([3, 1, 2],), [1, 2, 3]),),
        "Python can sort already",
    ),
    Function(
        "sort_descending",
        ("sorts a list from largest to smallest", "sorts a list in descending order"),
        (_L,),
        ("return sorted($a, reverse=True)",),
        ((([3, 1, 2],), [3, 2, 1]),),
        "sorted has a reverse option",
    ),
    Function(
        "contains",
        ("checks whether a list contains a value", "tells if an item is in a list"),
        (_L, ("item", "target", "wanted")),
        ("return $b in $a", "for x in $a:\n    if x == $b:\n        return True\nreturn False"),
        ((([1, 2], 2), True), (([1, 2], 5), False)),
        "the in operator does it",
    ),
    Function(
        "count_items",
        ("counts how often a value occurs in a list", "counts an item in a list"),
        (_L, ("item", "target", "wanted")),
        ("return $a.count($b)", "count = 0\nfor x in $a:\n    if x == $b:\n        count += 1\nreturn count"),
        ((([1, 2, 1], 1), 2),),
        "compare each item",
    ),
    Function(
        "flatten",
        ("flattens a list of lists", "joins nested lists into one list"),
        (("lists", "nested", "rows"),),
        (
            "return [x for part in $a for x in part]",
            "result = []\nfor part in $a:\n    result.extend(part)\nreturn result",
        ),
        ((([[1, 2], [3]],), [1, 2, 3]),),
        "go through the inner lists",
    ),
    Function(
        "count_down",
        ("counts down from n to 1", "returns the numbers from n down to 1"),
        (("n",),),
        (
            "return list(range($a, 0, -1))",
            "result = []\nwhile $a > 0:\n    result.append($a)\n    $a -= 1\nreturn result",
        ),
        (((3,), [3, 2, 1]),),
        "a range with step -1",
    ),
    Function(
        "is_empty",
        ("checks whether a list is empty", "tells if a list has no items"),
        (_L,),
        ("return len($a) == 0", "return not $a"),
        ((([],), True), (([1],), False)),
        "an empty list has length 0",
    ),
    Function(
        "multiplication_table",
        ("returns the multiplication table of a number", "makes the times table of a number"),
        (("n",),),
        ("return [$a * i for i in range(1, 11)]",),
        (((3,), [3, 6, 9, 12, 15, 18, 21, 24, 27, 30]),),
        "times 1 to 10",
    ),
    Function(
        "merge",
        ("merges two dictionaries", "joins two dicts into one"),
        (("a", "first", "left"), ("b", "second", "right")),
        ("return {**$a, **$b}", "result = dict($a)\nresult.update($b)\nreturn result"),
        ((({"a": 1}, {"b": 2}), {"a": 1, "b": 2}),),
        "the second one is laid over the first",
    ),
)

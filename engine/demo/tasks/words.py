"""Words that lists and strings are made of: short, common, lower case."""

from __future__ import annotations

WORDS: tuple[str, ...] = tuple(
    dict.fromkeys(
        """
apple pear plum grape lemon cherry banana orange melon peach mango berry tomato carrot onion potato
bread butter cheese milk honey sugar salt pepper water juice coffee tea soup rice pasta egg cake
cookie candy lunch dinner table chair bed lamp door window wall floor roof house garden kitchen room
stairs street road bridge river lake sea ocean beach sand stone rock hill mountain forest tree leaf
flower grass rain snow wind storm cloud sun moon star sky night day morning evening summer winter
spring autumn cat dog bird fish horse cow pig sheep goat duck goose hen mouse rabbit fox wolf bear
deer lion tiger monkey zebra camel whale shark snake frog turtle bee ant spider eagle owl robin book
paper pen pencil letter story poem song music piano guitar drum violin dance game ball doll kite
puzzle card train plane boat ship bus car bike truck wheel engine key lock clock watch phone radio
camera mirror window brush soap towel shirt coat hat shoe sock glove scarf ring red blue green
yellow white black brown pink gray purple gold silver small large tall short long round square light
dark warm cold hot cool fast slow quick early late happy sad kind brave calm clever funny gentle
loud quiet strong weak young old new clean dirty dry wet hard soft sweet sour fresh full empty open
close read write draw paint sing play jump run walk swim climb sleep dream smile laugh cry speak
listen learn teach think build carry catch throw push pull cut fold grow help hold keep know leave
live look love make meet move need plant rest ride sail save send show sit stand start stay stop
talk tell thank touch travel try turn use visit wait wash wear win wish work hello world python
planet rocket robot magic castle king queen prince dragon giant wizard pirate island treasure map
gold forest village city market school teacher student doctor farmer baker pilot sailor friend
family mother father sister brother uncle aunt baby child girl boy man woman people number letter
word page level noon civic radar kayak mom dad eye pop wow noun verb color shape line point circle
corner center north south east west left right front back top bottom inside outside strawberry
butterfly elephant umbrella holiday breakfast chocolate computer dinosaur football hospital kangaroo
notebook sunshine rainbow snowman seashell
""".split()
    )
)

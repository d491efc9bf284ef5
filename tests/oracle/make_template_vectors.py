#!/usr/bin/env python3
"""Writes tests/data/template/*.json: what jinja2, set up as transformers sets it up, makes of our own templates.

features.json: [{"t": template, "v": variables, "o": text} or {..., "e": true} where jinja2 raises].
chats.json: {"templates": {name: text}, "chats": {name: arguments of cel_chat_variables},
             "expect": {template: {chat: text or null where it raises}}}.
Needs jinja2 alone. --corpus DIR also writes every template as a seed of the fuzzer.
"""
import argparse
import datetime
import hashlib
import json
import pathlib

import jinja2
import jinja2.ext
import jinja2.sandbox

HERE = pathlib.Path(__file__).resolve().parent


class Generation(jinja2.ext.Extension):
    tags = {"generation"}

    def parse(self, parser):
        line = next(parser.stream).lineno
        body = parser.parse_statements(("name:endgeneration",), drop_needle=True)
        return jinja2.nodes.CallBlock(self.call_method("_body"), [], [], body).set_lineno(line)

    def _body(self, caller):
        return caller()


def raise_exception(message):
    raise jinja2.TemplateError(message)


def tojson(x, ensure_ascii=False, indent=None, separators=None, sort_keys=False):
    return json.dumps(x, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)


def environment():
    env = jinja2.sandbox.ImmutableSandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True, extensions=[Generation, jinja2.ext.loopcontrols])
    env.filters["tojson"] = tojson
    env.globals["raise_exception"] = raise_exception
    env.globals["strftime_now"] = lambda form: datetime.datetime.now().strftime(form)
    return env


ENV = environment()


def render(template, variables):
    try:
        return ENV.from_string(template).render(**variables)
    except Exception:  # every way to fail is one: we must fail too
        return None


V = {
    "s": "Hello World", "e": "", "u": "Grüße, 世界 🦙 ß", "n": 3, "f": 2.5, "t": True, "no": None,
    "l": [3, 1, 2], "w": ["b", "A", "c", "a"], "d": {"b": 1, "a": {"x": [1, 2]}, "items": "own", "c d": None},
    "x": {"b": 1, "a": [True, None, 1.0, "é</script>'&/"]},
    "users": [{"name": "Bo", "age": 30, "ok": True, "city": {"n": "X"}}, {"name": "al", "age": 4, "ok": False},
              {"name": "Cy", "age": 30, "city": {"n": "Y"}}],
    "messages": [{"role": "a", "content": "1"}, {"role": "b", "content": "2"}, {"role": "c", "content": "3"}],
    "html": "<a href='x'>&\"", "ws": " \t x y \n", "multi": "one\ntwo\n\nfour", "nested": [[1, [2, 3]], [4]],
    "big": 123456789012345678, "neg": -7,
}

FEATURES = """
{{ 1 + 2 * 3 }} {{ (1 + 2) * 3 }} {{ 2 ** 3 ** 2 }} {{ -2 ** 2 }} {{ 7 // 2 }} {{ -7 // 2 }} {{ 7 % 3 }} {{ -7 % 3 }} {{ 7 / 2 }} {{ 6 / 3 }}
{{ 7.5 // 2 }} {{ -7.5 % 2 }} {{ 1e3 }} {{ 1_000 }} {{ 0x1F }} {{ 0b101 }} {{ 0o17 }} {{ 1.5e-7 }} {{ 100000000000000000.0 }} {{ 1e15 }} {{ 0.1 + 0.2 }}
{{ 2 ** -1 }} {{ 2 ** 0.5 }} {{ True + 1 }} {{ true and 0 }} {{ 0 or 'x' }} {{ not 1 }} {{ not not e }} {{ +neg }} {{ -neg }}
{{ 1 / 0 }}
{{ 1 // 0 }}
{{ 1 % 0 }}
{{ 1 < 2 < 3 }} {{ 1 < 3 < 2 }} {{ 1 == 1.0 }} {{ 1 == true }} {{ '1' == 1 }} {{ [1, 2] == [1, 2] }} {{ [1] < [1, 2] }} {{ (1, 2) == [1, 2] }} {{ 'a' < 'b' }}
{{ 'a' < 1 }}
{{ none < 1 }}
{{ 1 in l }} {{ 5 not in l }} {{ 'ell' in s }} {{ 'b' in d }} {{ not 1 in l }} {{ 2 in range(0, 10, 2) }} {{ 3 in range(0, 10, 2) }}
{{ 1 in s }}
{{ 1 in 2 }}
{{ 'a' ~ 1 ~ none ~ true ~ 2.0 ~ l }} {{ 'x' 'y' "z" }} {{ 'a' + 'b' * 3 }} {{ [1] + [2] }} {{ (1,) + (2,) }} {{ [0] * 3 }}
{{ 'a' + 1 }}
{{ [1] + (2,) }}
{{ 'yes' if t else 'no' }} {{ 'yes' if not t }}| {{ 1 if e else 2 if n == 3 else 4 }}
{{ ('yes' if not t).x }}
{{ s.upper() }} {{ s|upper }} {{ s.lower()|title }} {{ 'hello wORLD-foo (bar'|title }} {{ 'hello wORLD-foo'.title() }} {{ s.swapcase() }} {{ 'éa ß'.capitalize() }} {{ 'ß'|upper }}
{{ u }} {{ u|length }} {{ u[1] }} {{ u[-1] }} {{ u[::-1] }} {{ u.upper() }} {{ u[2:5] }} {{ u.find('世') }} {{ u.split() }} {{ u|list }}
{{ 'ΑΣ ΑΣΑ'.lower() }} {{ 'ǆ'|title }} {{ 'ŉ'.upper() }} {{ 'İ'.lower() }}
{{ ws|trim }}|{{ ws.strip() }}|{{ ws.lstrip() }}|{{ ws.rstrip() }}|{{ 'xxaxx'.strip('x') }}|{{ 'abcba'.lstrip('ab') }}|{{ 'abc'|trim('c') }}|{{ '\u00a0\u2003x\u3000'.strip() }}|
{{ 'a,b,,c'.split(',') }} {{ 'a b  c'.split() }} {{ 'a,b,c'.split(',', 1) }} {{ 'a,b,c'.rsplit(',', 1) }} {{ ' a b c '.split(none, 1) }} {{ ' a b c '.rsplit(none, 1) }} {{ 'a'.split(maxsplit=1) }} {{ ''.split(',') }} {{ ''.split() }}
{{ 'a'.split('') }}
{{ multi.splitlines() }} {{ 'a\\r\\nb\\rc\\n'.splitlines(true) }} {{ 'a=b=c'.partition('=') }} {{ 'a=b=c'.rpartition('=') }} {{ 'abc'.partition('x') }}
{{ s.startswith('He') }} {{ s.endswith(('x', 'ld')) }} {{ s.startswith('lo', 3) }} {{ s.startswith('', 20) }} {{ s.replace('l', 'L') }} {{ s.replace('l', 'L', 1) }} {{ 'ab'.replace('', '-') }} {{ s|replace('o', '0') }} {{ s|replace('o', '0', 1) }} {{ 11|replace(1, 2) }}
{{ s.find('o') }} {{ s.rfind('o') }} {{ s.find('zz') }} {{ s.index('W') }} {{ s.count('l') }} {{ s.count('') }} {{ s.find('o', 5) }} {{ s.find('', 99) }} {{ 'aaa'.count('aa') }}
{{ s.index('zz') }}
{{ s.removeprefix('Hello ') }} {{ s.removesuffix('World') }} {{ '-'.join(w) }} {{ ', '.join(['x']) }} {{ '42'.zfill(5) }} {{ '-42'.zfill(5) }} {{ 'ab'.center(7, '*') }} {{ 'abc'.center(6, '*') }} {{ 'ab'.ljust(4, '.') }} {{ 'ab'.rjust(4) }} {{ 'ab'|center(6) }}|
{{ '-'.join([1]) }}
{{ '5'.isdigit() }} {{ '5a'.isdigit() }} {{ 'ab'.isalpha() }} {{ 'a1'.isalnum() }} {{ ' '.isspace() }} {{ ''.isspace() }} {{ 'AB'.isupper() }} {{ 'ab1'.islower() }} {{ 'Ab Cd'.istitle() }} {{ 'a_1'.isidentifier() }} {{ '1a'.isidentifier() }} {{ '²'.isdigit() }} {{ '²'.isdecimal() }} {{ 'é'.isascii() }}
{{ s.nope }} {{ s.nope is defined }} {{ s['upper']() }}
{{ s.nope.more }}
{{ s.nope() }}
{{ missing }}|{{ missing is defined }}|{{ missing|default('D') }}|{{ e|default('D') }}|{{ e|default('D', true) }}|{{ none|d('D') }}|{{ none|d('D', boolean=true) }}|{{ missing|length }}|{{ missing|list }}|{{ missing|upper }}|{{ missing ~ 'x' }}|{{ missing == missing2 }}|{{ 'a' in missing }}|{{ missing|join(',') }}|{{ missing|first }}|
{{ missing.a }}
{{ missing['a'] }}
{{ missing + 1 }}
{{ missing < 1 }}
{{ missing() }}
{{ missing|int }}
{{ missing|tojson }}
{{ d.a.x[1] }} {{ d['b'] }} {{ d.items() }} {{ d['items'] }} {{ d.keys()|list }} {{ d.values() }} {{ d.get('b') }} {{ d.get('zz') }} {{ d.get('zz', 5) }} {{ d.zz }}| {{ d['c d'] }} {{ d|length }} {{ d|list }} {{ d }}
{{ d.get([1]) }}
{{ d.pop('a') }}
{{ d.update({'a': 1}) }}
{{ l.append(4) }}
{{ l.sort() }}
{{ d.pop is defined }} {{ l.append }}|
{{ l[0] }} {{ l[-1] }} {{ l[5] }}| {{ l[1:] }} {{ l[:-1] }} {{ l[::2] }} {{ l[::-1] }} {{ l[5:] }} {{ l[-2:] }} {{ l.index(1) }} {{ l.count(3) }} {{ l.0 }} {{ l['x'] }}|
{{ l[::0] }}
{{ l.index(9) }}
{{ l['a':] }}
{{ 'abcdef'[1:-1:2] }} {{ 'abcdef'[-2:] }} {{ 'abcdef'[4:1:-1] }} {{ 'abcdef'[10:] }}| {{ 'abc'[5] }}| {{ range(10)[2:8:3] }} {{ range(10)[::-1]|list }} {{ (1, 2, 3)[1:] }}
{% for m in messages[::-1] %}{{ m.role }}{% endfor %}|{{ messages[-1].role }}|{{ 'abcdef'[1:-1:2] }}|{{ messages[5:]|length }}
{{ [1, 'a', "it's", 'q"q', none, true, 1.0, (1,), {}, [], {'k': 'v'}, 'é', '\\n\\t\\\\'] }} {{ () }} {{ (1, 2) }} {{ '\\x00\\x7f\\u200b' ~ [ '\\x00\\x7f\\u200b\\u2028' ] }}
{{ x|tojson }} {{ [1e20, 1e16, 123456789012345678, -0.0, 1e-7] | tojson }} {{ {'k': [1, {}], 'e': []}|tojson(indent=2) }}
{{ d|tojson }} {{ d|tojson(sort_keys=true) }} {{ u|tojson }} {{ u|tojson(ensure_ascii=true) }} {{ l|tojson(indent=0) }} {{ l|tojson(separators=(',', ':')) }} {{ d|tojson(indent=1, separators=(', ', '=')) }} {{ '\\x7f\\x01"\\b\\f\\n' | tojson }} {{ (1, 2)|tojson }} {{ {1: 2, 1.5: 3, none: 4, true: 5}|tojson }} {{ l|tojson(indent='--') }} {{ [[], {}]|tojson(indent=4) }}
{{ l|tojson(nonsense=1) }}
{{ range(3)|tojson }}
{{ {(1, 2): 3}|tojson }}
{{ {'a': 1, 2: 3}|tojson(sort_keys=true) }}
{{ w|sort }} {{ w|sort(reverse=true) }} {{ w|sort(case_sensitive=true) }} {{ l|sort }} {{ users|sort(attribute='age')|map(attribute='name')|list }} {{ users|sort(attribute='age,name', reverse=true)|map(attribute='name')|list }} {{ [3, 1.5, true]|sort }}
{{ [1, 'a']|sort }}
{{ l|first }} {{ l|last }} {{ []|first }}| {{ e|last }}| {{ l|max }} {{ l|min }} {{ w|max }} {{ l|sum }} {{ users|sum(attribute='age') }} {{ users|max(attribute='age') }} {{ [[1], [2]]|sum(start=[]) }} {{ []|max }}|
{{ l|join }} {{ l|join(', ') }} {{ users|join('-', attribute='name') }} {{ s|join('.') }} {{ d|join(' ') }}
{{ l|map('string')|list }} {{ w|map('upper')|join }} {{ users|map(attribute='name')|list }} {{ users|map(attribute='city.n', default='?')|list }} {{ users|map(attribute='zz')|list|length }} {{ ['1', 'x']|map('int', default=7)|list }} {{ []|map('nope')|list }}
{{ l|map|list }}
{{ l|map('nope')|list }}
{{ users|selectattr('ok')|map(attribute='name')|list }} {{ users|rejectattr('ok')|map(attribute='name')|list }} {{ users|selectattr('age', 'equalto', 30)|list|length }} {{ l|select('odd')|list }} {{ l|reject('odd')|list }} {{ [0, 1, '', 'a']|select|list }} {{ users|selectattr('city', 'defined')|list|length }} {{ l|select('greaterthan', 1)|list }} {{ users|selectattr('city.n', 'eq', 'Y')|map(attribute='name')|first }}
{{ l|select('nope')|list }}
{{ (l|select('odd'))|length }}
{{ (l|select('odd'))|last }}
{{ w|unique|list }} {{ ['a', 'A', 'b']|unique|list }} {{ ['a', 'A']|unique(case_sensitive=true)|list }} {{ users|unique(attribute='age')|map(attribute='name')|list }} {{ [1, 1.0, true]|unique|list }}
{{ l|reverse|list }} {{ s|reverse }} {{ d|items|list }} {{ d|dictsort|map('first')|list }} {{ {'b': 2, 'A': 1}|dictsort }} {{ {'b': 2, 'A': 1}|dictsort(true) }} {{ {'b': 1, 'a': 2}|dictsort(by='value') }} {{ {'b': 1, 'a': 2}|dictsort(reverse=true) }}
{{ 5|items }}{{ 5|items|list }}
{% for g in users|groupby('age') %}{{ g.grouper }}:{{ g.list|map(attribute='name')|join(',') }};{% endfor %}{% for k, v in users|groupby('city.n', default='none') %}{{ k }}{{ v|length }}{% endfor %}
{{ range(7)|batch(3)|list }} {{ range(7)|batch(3, 'x')|list }} {{ range(7)|slice(3)|list }} {{ range(7)|slice(3, 'x')|list }} {{ []|batch(2)|list }}
{{ multi|indent }}|{{ multi|indent(2, true) }}|{{ multi|indent(2, blank=true) }}|{{ multi|indent('> ') }}|{{ ''|indent }}|{{ 'a\\n'|indent(1, true) }}|
{{ html|e }} {{ html|escape|e }} {{ html|safe }} {{ (html|safe) + '<' }} {{ '<'|e ~ '<' }} {{ html|forceescape }} {{ ('<'|e) is escaped }} {{ [html|safe]|length }}
{{ '42'|int }} {{ '4.7'|int }} {{ 'x'|int }} {{ 'x'|int(9) }} {{ ' 12 '|int }} {{ '1_0'|int }} {{ '0x1f'|int(base=16) }} {{ 'ff'|int(0, 16) }} {{ 4.9|int }} {{ -4.9|int }} {{ none|int }} {{ true|int }} {{ '-5'|int }} {{ '1e3'|int }} {{ ''|int }} {{ '0b11'|int(0, 0) }} {{ [1]|int }}
{{ '4.5'|float }} {{ 'x'|float }} {{ 'x'|float(1.5) }} {{ 3|float }} {{ '1e3'|float }} {{ 'nan'|float }} {{ 'inf'|float }} {{ '0x10'|float }} {{ ' 2 '|float }}
{{ 2.5|round }} {{ 3.5|round }} {{ 2.675|round(2) }} {{ 42.55|round(1, 'floor') }} {{ 42.51|round(0, 'ceil') }} {{ 5|round }} {{ 1234.5|round(-2) }} {{ -2.5|abs }} {{ -3|abs }} {{ 2.345|round(2, method='common') }}
{{ 1|round(1, 'sideways') }}
{{ 'a'|abs }}
{{ s|wordcount }} {{ 'a b?=c&/é'|urlencode }} {{ {'a b': 'c/d', 'e': 1}|urlencode }} {{ 'foo bar baz qux'|truncate(9) }} {{ 'foo bar baz qux'|truncate(9, true) }} {{ 'foo bar baz qux'|truncate(11) }} {{ 'foo bar baz qux'|truncate(11, false, '...', 0) }} {{ 1500|filesizeformat }} {{ 1|filesizeformat }} {{ 3000000|filesizeformat(true) }}
{{ '%s is %d' % ('a', 3) }} {{ '%05.2f|%-5s|%5s|%x|%%|%r' % (3.14159, 'ab', 'cd', 255, 'q') }} {{ '%s' % 'x' }} {{ '%(k)s-%(n)03d' % {'k': 'v', 'n': 7} }} {{ '%s %s'|format('a', 1) }} {{ '%+d % d %c %e %g %o' % (5, 5, 'x', 12345.678, 0.0001, 8) }} {{ '%*d' % (5, 42) }} {{ '%s' % [1] }} {{ '%.2s' % 'abc' }}
{{ '%s %s' % 'x' }}
{{ '%d' % 'x' }}
{{ '%s' % (1, 2) }}
{{ '{} {}'.format('a', 1) }} {{ '{0}{1}{0}'.format('a', 'b') }} {{ '{k}:{n:>5}'.format(k='v', n=7) }} {{ '{:05.1f}|{:<6}|{:^7}|{:+d}|{:,}|{:x}|{!r}'.format(3.14159, 'ab', 'mid', 5, 1234567, 255, 'q') }} {{ '{{}}{}'.format(1) }} {{ '{0[a]} {0[b]}'.format({'a': 1, 'b': 2}) }} {{ '{:.3}'.format('abcdef') }} {{ '{:*>8}'.format('x') }} {{ '{:%}'.format(0.25) }}
{{ '{} {}'.format('a') }}
{{ '{k}'.format(1) }}
{{ n is number }} {{ s is string }} {{ d is mapping }} {{ l is sequence }} {{ l is iterable }} {{ n is iterable }} {{ d is sequence }} {{ s is sequence }} {{ no is none }} {{ t is boolean }} {{ t is true }} {{ t is false }} {{ n is integer }} {{ f is float }} {{ t is integer }} {{ t is number }} {{ range is callable }} {{ s is callable }} {{ missing is undefined }} {{ missing is sequence }} {{ missing is iterable }} {{ missing is callable }} {{ missing is none }}
{{ 3 is odd }} {{ 4 is even }} {{ 9 is divisibleby 3 }} {{ 9 is divisibleby(2) }} {{ 'a' is lower }} {{ 'A' is upper }} {{ 1 is eq 1 }} {{ 1 is ne 2 }} {{ 1 is lt 2 }} {{ 2 is ge 2 }} {{ 2 is gt(1) }} {{ 1 is le 0 }} {{ 1 is in [1, 2] }} {{ 3 is not in([1, 2]) }} {{ none is sameas none }} {{ true is sameas 1 }} {{ 'upper' is filter }} {{ 'nope' is filter }} {{ 'odd' is test }} {{ n is not none }} {{ not n is none }} {{ n is defined and n > 2 }} {{ '==' is test }}
{{ n is nope }}
{{ n|nope }}
{{ n is odd is true }}
{% set x = 1 %}{% for i in l %}{% set x = i %}{{ x }}{% endfor %}{{ x }}
{% set ns = namespace(a=1, b=[]) %}{% for i in l %}{% set ns.a = ns.a + i %}{% set ns.b = ns.b + [i] %}{% endfor %}{{ ns.a }}{{ ns.b }}{{ ns.zz is defined }}
{% set ns = namespace({'p': 1}, q=2) %}{{ ns.p }}{{ ns.q }}{{ ns }}
{% set l.x = 1 %}
{% set ns = namespace(_a=1) %}{{ ns._a }}{{ ns.__class__.__name__ }}
{% set a, b = 1, 2 %}{{ a }}{{ b }}{% set (c, (e, g)) = (1, (2, 3)) %}{{ c }}{{ e }}{{ g }}{% set h = 1, 2 %}{{ h }}
{% set a, b = [1] %}
{% set block %}a{{ n }}{% set inner = 5 %}{% endset %}{{ block|upper }}{{ inner is defined }}{% set f2 | upper | replace('X', 'y') %}x{{ s }}{% endset %}{{ f2 }}
{% if e %}a{% elif n == 2 %}b{% elif n == 3 %}c{% else %}d{% endif %}{% if no %}x{% endif %}{% if missing %}x{% else %}y{% endif %}
{% if t %}{% set q = 1 %}{% endif %}{{ q }}{% if not t %}{% set z = 1 %}{% endif %}{{ z is defined }}
{% for i in l %}{{ loop.index }}{{ loop.index0 }}{{ loop.revindex }}{{ loop.revindex0 }}{{ loop.first }}{{ loop.last }}{{ loop.length }}{{ loop.previtem }}{{ loop.nextitem }}{{ loop.cycle('x', 'y') }}{{ loop.depth }}{{ loop.changed(i) }};{% endfor %}
{% for i in l if i > 1 %}{{ loop.index }}/{{ loop.length }}:{{ i }}{{ '' if loop.last else ',' }}{% else %}none{% endfor %}{% for i in [] %}x{% else %}empty{% endfor %}{% for i in l if i > 9 %}x{% else %}empty{% endfor %}
{% for k, v in d.items() %}{{ k }}={{ v }};{% endfor %}{% for k in d %}{{ k }}{% endfor %}{% for c in 'aé🦙' %}{{ c }}-{% endfor %}{% for (a, b), c in [((1, 2), 3)] %}{{ a }}{{ b }}{{ c }}{% endfor %}
{% for a, b in [1, 2] %}{{ a }}{% endfor %}
{% for i in 5 %}{% endfor %}
{% for i in none %}{% endfor %}
{% for i in missing %}x{% else %}y{% endfor %}{% for i in range(3) %}{% for j in range(2) %}{{ loop.index }}{% endfor %}{{ loop.index }};{% endfor %}
{% for i in range(10) %}{% if i == 2 %}{% continue %}{% endif %}{% if i == 5 %}{% break %}{% endif %}{{ i }}{% endfor %}{% for i in [1] %}{% break %}{% else %}else{% endfor %}
{% break %}
{% set ns = namespace(stop=false) %}{% for i in range(5) if not ns.stop %}{{ i }}{% if i == 2 %}{% set ns.stop = true %}{% endif %}{% endfor %}
{% for x in nested recursive %}[{{ loop.depth }}{% for y in x %}{{ y if y is number else loop.index }}{% endfor %}]{% endfor %}{% for item in [{'v': 1, 'c': [{'v': 2, 'c': []}]}] recursive %}{{ item.v }}({{ loop(item.c) }}){% endfor %}
{% for i in l %}{{ loop(l) }}{% endfor %}
{{ loop is defined }}{% for i in [1, 1, 2] %}{% if loop.changed(i) %}{{ i }}{% endif %}{% endfor %}
{% macro m(a, b=2, c='x') %}{{ a }}{{ b }}{{ c }}{% endmacro %}{{ m(1) }} {{ m(1, c=3) }} {{ m(b=1, a=2) }} {{ m() }} {{ m.name }} {{ m(1)|upper }}
{% macro m(a) %}{{ a }}{% endmacro %}{{ m(1, 2) }}
{% macro m(a) %}{{ a }}{% endmacro %}{{ m(z=2) }}
{% macro m(a) %}{{ a }}{% endmacro %}{{ m(1, a=2) }}
{% macro m() %}{{ varargs }}{{ kwargs }}{% endmacro %}{{ m(1, 2, k=3) }}{% macro p(a, b=a) %}{{ a }}{{ b }}{% endmacro %}{{ p(4) }}
{% macro box(t) %}[{{ t }}:{{ caller() }}]{% endmacro %}{% call box('h') %}body{{ n }}{% endcall %}{% macro each(xs) %}{% for x in xs %}{{ caller(x) }}{% endfor %}{% endmacro %}{% call(x) each(l) %}<{{ x }}>{% endcall %}
{% macro nocall() %}x{% endmacro %}{% call nocall() %}y{% endcall %}
{% macro fact(n) %}{{ n if n < 2 else n * (fact(n - 1)|int) }}{% endmacro %}{{ fact(6) }}{% set y = 1 %}{% macro seey() %}{{ y }}{% endmacro %}{% set y = 2 %}{{ seey() }}
{% macro a() %}{{ b() }}{% endmacro %}{% macro b() %}B{% endmacro %}{{ a() }}{% macro opt(x=none) %}{{ x is none }}{% endmacro %}{{ opt() }}
{% filter upper %}abc{{ s }}{% endfilter %}{% filter replace('a', 'b')|upper %}aaa{% endfilter %}
{% with a = 1, b = n %}{{ a }}{{ b }}{% endwith %}{{ a is defined }}{% with %}{% set q = 1 %}{% endwith %}{{ q is defined }}
{% generation %}gen{{ s }}{% set gg = 1 %}{% endgeneration %}{{ gg is defined }}
{% raw %}{{ not rendered }}{% if %}{% endraw %}x{%- raw -%}  y  {%- endraw %}
{# comment #}a{#- strip -#}  b  {#- #}c
{% autoescape false %}{{ html }}{% endautoescape %}{% block foo %}in{{ n }}{% endblock %}{% print s, n %}
{% include 'x' %}
{% unknown %}
{% if %}x{% endif %}
{% if t %}x
{{ x
{{ x }
{{ }}
{{ 'abc }}
{{ a b }}
{{ (1 }}
{{ [1, }}
{{ {'a' 1} }}
{{ x..y }}
{{ x | }}
{{ 1 + }}
{{ f(a=1, 2) }}
{% for in l %}{% endfor %}
{% endif %}
{% set = 1 %}
{% set 1 = 2 %}
{% macro %}{% endmacro %}
{# never closed
{% raw %}never closed
{{ 'a' if }}
{{ a ? b }}
{{ x! }}
{{ [1, 2, ] }} {{ {'a': 1, } }} {{ (1, ) }} {{ {1: 'a', none: 'b', (1, 2): 'c'} }} {{ {'a': 1, 'a': 2} }} {{ {1: 'x', true: 'y', 1.0: 'z'} }}
{{ {[1]: 2} }}
{{ dict(a=1, b=2) }} {{ dict([('x', 1)]) }} {{ dict({'y': 2}, z=3) }} {{ range(5)|list }} {{ range(2, 8, 3)|list }} {{ range(5, 0, -2)|list }} {{ range(3) }} {{ range(0)|list }} {{ range(1, 9, 2) }}
{{ range() }}
{{ range(1, 2, 0) }}
{{ range(1000000) }}
{{ range('a') }}
{% set c = cycler('a', 'b') %}{{ c.next() }}{{ c.next() }}{{ c.next() }}{{ c.current is defined }}{% set j = joiner('|') %}{{ j() }}{{ j() }}{{ j() }}
{{ raise_exception('boom') }}
{% if messages[0].role != 'user' %}{{ raise_exception('Roles must alternate') }}{% endif %}ok
{{ ''.__class__.__mro__ }}
{{ s|attr('upper') is callable }} {{ d|attr('b') is defined }} {{ d|attr('keys') is callable }}
{{ '\\x41\\u00e9\\U0001F999\\101\\n\\t\\'\\"\\\\\\q' }} {{ "a\\
b" }}
{{ '\\x4' }}
{{ l * 2 }} {{ 2 * 'ab' }} {{ 'ab' * 0 }}| {{ 'ab' * -1 }}| {{ l == [3, 1, 2] }} {{ d == d }} {{ d != {} }} {{ none == none }} {{ 1 != '1' }}
{{ s[0] }}{{ s['length'] }}{{ s.0 }}|{{ big + 1 }} {{ big * 10 }} {{ neg // 2 }} {{ neg % 5 }} {{ 10 ** 18 }}
{{ foo.bar is defined }}
{{ d.foo.bar is defined }}
{{ d.foo is defined and d.foo.bar }} {{ (d.foo or {}).bar is defined }} {{ d.foo|default({})|length }}
{{ messages|map(attribute='role')|join(',') }} {{ messages|selectattr('role', 'in', ['a', 'c'])|map(attribute='content')|join }} {{ (messages|last).content }} {{ messages[0]['content'] }} {{ messages|rejectattr('role', 'equalto', 'a')|list|length }}
{{ *l }}
{{ '%s-%s' % (*l,) }}
{{ dict(**{'a': 1}) }} {{ '{}{}'.format(*l[:2]) }} {{ [l, *l] }}
{{ l[0, 1] }}|{{ d['a', 'b'] is defined }}
{{ true.real }} {{ 5 .bit_length() }} {{ (2.0).is_integer() }} {{ True }} {{ None }} {{ none }} {{ False }} {{ TRUE is defined }}
{{ '' or none or 0 or [] or 'last' }} {{ 1 and 2 and 3 }} {{ 0 and missing.x }} {{ none is none and none == none }} {{ 'a' if 'a' in 'abc' and 'd' not in 'abc' else 'z' }}
{{ 5 is number and 'x' is string or missing.y }} {{ -1|abs }} {{ (-1)|abs }} {{ - 1 }} {{ 2 - -1 }} {{ 1 -1 }} {{ not 1 == 2 }} {{ 1 if not missing else 2 }}
{{ 3.0 }} {{ 3.14 }} {{ 1e100 }} {{ 1e-5 }} {{ 0.0001 }} {{ 123456789.123 }} {{ 1e22 }} {{ 5e-324 }} {{ 1.7976931348623157e308 }} {{ 2.0 ** 100 }} {{ 1/3 }} {{ 10 / 4 }} {{ 4 / 2 }} {{ -0.0 }}
""".strip("\n")

# One template per line above; those with newlines inside are here.
MORE = [
    "a\n    {% for i in [1,2] %}\n    {{ i }}\n    {% endfor %}\nz",
    "{% if true %}\n  A\n{% endif %}\n  {%- if true -%}  B  {%- endif %}\n   {% set x = 1 %}\nC{{ x }}\n{# c #}\nD\n",
    "x  {%+ if true %} y{% endif +%}\nz",
    "\n{{ 1 }}\n\n{{- 2 -}}\n\n 3\n\n",
    "  {{ s }}  \n  {%- if t %}\n  a\n  {%- else %}\n b\n  {%- endif %}\n\n",
    "a\r\nb\rc\n{% if t %}\r\nd{% endif %}\r\n",
    "\t{% set a = 1 %}  \n\t {# c #} \n  {{ a }}{#+ keep +#}\n x",
    "{% raw %}\n a\n{% endraw %}\n b {%- raw %} c {% endraw -%}\n d",
    "x {%- set y = 1 -%} \n\n {{- y }} {{+ y }} {{ y -}} \n z",
    "{% for i in l -%}\n  {{ i }}\n{%- endfor %}\n{% for i in l %}{{ i }}\n{% endfor %}",
    "{%if t%}a{%endif%}{%-if t-%}b{%-endif-%}{{s}}{{-s-}}",
    "{{ {'a': {'b': 1}} }}{{ {'x': [{'y': 2}]}['x'][0].y }}",
    "{% macro f(x) -%}\n  {{ x }}\n{%- endmacro %}\n[{{ f(1) }}]\n",
    "  a  {# c1 #}\n  {# c2 #}\n  b{# c3 -#}  \n c",
    "{% if t %}{# c #}\n  x\n  {% endif %}  \n  {% if t %}y{% endif %}",
    "{{ '\n' }}|{{ \"\r\n\" }}|{{ 'a\nb'|tojson }}",
    "no tags at all\n\n", "", "\n", "{", "{ {", "%}", "}}", "{{ '}}' }}{{ '%}' }}{{ '{{' }}",
    "{% set a = [\n 1,\n 2\n] %}{{ a }}\n{{ {\n'k':\n1} }}",
]

TOOLS = [
    {"type": "function", "function": {
        "name": "get_weather", "description": 'Weather of a "city" & more, später',
        "parameters": {"type": "object", "properties": {
            "city": {"type": "string", "description": "Name"},
            "unit": {"type": "string", "enum": ["C", "F"], "default": None},
            "days": {"type": ["integer", "null"]}}, "required": ["city"]}}},
    {"type": "function", "function": {"name": "now", "description": "", "parameters": {"type": "object", "properties": {}}}},
]


def turn(role, content, **more):
    return {"role": role, "content": content, **more}


CALL = {"id": "c1", "type": "function", "function": {"name": "get_weather", "arguments": {"city": "Paris", "days": 3, "x": [1.0, None, True]}}}
CALL_TEXT = {"id": "c2", "type": "function", "function": {"name": "now", "arguments": "{\"a\": \"b\"}"}}

CHATS = {
    "user": dict(messages=[turn("user", "Hello")]),
    "system": dict(messages=[turn("system", "Be brief."), turn("user", " Hi\n there ")]),
    "turns": dict(messages=[turn("user", "a"), turn("assistant", "b"), turn("user", "c"), turn("assistant", " d ")], prompt=False),
    "tools": dict(messages=[turn("system", "s"), turn("user", "w?")], tools=TOOLS),
    "call": dict(messages=[turn("user", "w?"), turn("assistant", None, tool_calls=[CALL, CALL_TEXT]),
                           turn("tool", "{\"t\": 20}", name="get_weather"), turn("tool", "12:00")], tools=TOOLS),
    "answered": dict(messages=[turn("user", "w?"), turn("assistant", "Let me see", tool_calls=[CALL]), turn("tool", "sunny"),
                               turn("assistant", "It is sunny"), turn("user", "thanks")], tools=TOOLS),
    "reasoning": dict(messages=[turn("user", "q"), turn("assistant", "<think>\nhmm\n</think>\n\nanswer"), turn("user", "q2"),
                                turn("assistant", "ans", reasoning_content="because\n"), turn("user", "q3")]),
    "thinking": dict(messages=[turn("user", "q"), turn("assistant", "ans", thinking="so", name=None)], prompt=False,
                     kwargs={"enable_thinking": False}),
    "parts": dict(messages=[turn("user", [{"type": "text", "text": "What is "}, {"type": "text", "text": "2+2?"}])]),
    "image": dict(messages=[turn("user", [{"type": "image"}, {"type": "text", "text": "Look"}]), turn("assistant", "ok")], prompt=False),
    "empty": dict(messages=[turn("user", "")]),
    "odd": dict(messages=[turn("system", ""), turn("user", "🦙 <|im_end|> \u00a0{{ x }}")], kwargs={"enable_thinking": True}),
    "wrong_order": dict(messages=[turn("user", "x"), turn("user", "y")]),
    "developer": dict(messages=[turn("developer", "d"), turn("user", "x")]),
}

# Written for these tests, in the manner of templates in use.
CHAT_TEMPLATES = {
    "chatml": """{% for m in messages %}{% if loop.first and m['role'] != 'system' %}{{ '[START]system\\nA helpful model.[STOP]\\n' }}{% endif %}{{ '[START]' + m['role'] + '\\n' + m['content'] + '[STOP]' + '\\n' }}{% endfor %}{% if add_generation_prompt %}{{ '[START]assistant\\n' }}{% endif %}""",
    "headers": """{{- bos_token }}
{%- if not date is defined %}
    {%- set date = "26 July" %}
{%- endif %}
{%- if not tools is defined %}
    {%- set tools = none %}
{%- endif %}
{%- if messages[0]['role'] == 'system' %}
    {%- set sys = messages[0]['content']|trim %}
    {%- set messages = messages[1:] %}
{%- else %}
    {%- set sys = "" %}
{%- endif %}
{{- "<head>system</head>\\n\\n" }}
{%- if tools is not none %}
    {{- "Environment: tools\\n" }}
{%- endif %}
{{- "Today: " + date + "\\n\\n" }}
{%- if tools is not none %}
    {{- "You can call these functions. Answer with JSON: " }}
    {{- '{"name": name, "parameters": values}.\\n\\n' }}
    {%- for t in tools %}
        {{- t | tojson(indent=4) }}
        {{- "\\n\\n" }}
    {%- endfor %}
{%- endif %}
{{- sys }}
{{- "<end>" }}
{%- for message in messages %}
    {%- if not (message.role == 'ipython' or message.role == 'tool' or 'tool_calls' in message) %}
        {{- '<head>' + message['role'] + '</head>\\n\\n' + message['content'] | trim + '<end>' }}
    {%- elif 'tool_calls' in message %}
        {%- if not message.tool_calls|length == 1 %}
            {{- raise_exception("One call at a time!") }}
        {%- endif %}
        {%- set call = message.tool_calls[0].function %}
        {{- '<head>assistant</head>\\n\\n' -}}
        {{- '{"name": "' + call.name + '", ' }}
        {{- '"parameters": ' }}
        {{- call.arguments | tojson }}
        {{- "}" }}
        {{- "<end>" }}
    {%- elif message.role == "tool" or message.role == "ipython" %}
        {{- "<head>ipython</head>\\n\\n" }}
        {%- if message.content is mapping or message.content is iterable %}
            {{- message.content | tojson }}
        {%- else %}
            {{- message.content }}
        {%- endif %}
        {{- "<end>" }}
    {%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}
    {{- '<head>assistant</head>\\n\\n' }}
{%- endif %}
""",
    "thinker": """{%- if tools %}
    {{- '[S]system\\n' }}
    {%- if messages[0].role == 'system' %}
        {{- messages[0].content + '\\n\\n' }}
    {%- endif %}
    {{- "# Tools\\n<tools>" }}
    {%- for tool in tools %}
        {{- "\\n" }}
        {{- tool | tojson }}
    {%- endfor %}
    {{- "\\n</tools>[E]\\n" }}
{%- else %}
    {%- if messages[0].role == 'system' %}
        {{- '[S]system\\n' + messages[0].content + '[E]\\n' }}
    {%- endif %}
{%- endif %}
{%- set ns = namespace(multi=true, last=messages|length - 1) %}
{%- for message in messages[::-1] %}
    {%- set index = (messages|length - 1) - loop.index0 %}
    {%- if ns.multi and message.role == "user" and message.content is string and not(message.content.startswith('<result>') and message.content.endswith('</result>')) %}
        {%- set ns.multi = false %}
        {%- set ns.last = index %}
    {%- endif %}
{%- endfor %}
{%- for message in messages %}
    {%- if message.content is string %}
        {%- set content = message.content %}
    {%- else %}
        {%- set content = '' %}
    {%- endif %}
    {%- if (message.role == "user") or (message.role == "system" and not loop.first) %}
        {{- '[S]' + message.role + '\\n' + content + '[E]' + '\\n' }}
    {%- elif message.role == "assistant" %}
        {%- set reason = '' %}
        {%- if message.reasoning_content is string %}
            {%- set reason = message.reasoning_content %}
        {%- else %}
            {%- if '</think>' in content %}
                {%- set reason = content.split('</think>')[0].rstrip('\\n').split('<think>')[-1].lstrip('\\n') %}
                {%- set content = content.split('</think>')[-1].lstrip('\\n') %}
            {%- endif %}
        {%- endif %}
        {%- if loop.index0 > ns.last and (loop.last or (not loop.last and reason)) %}
            {{- '[S]' + message.role + '\\n<think>\\n' + reason.strip('\\n') + '\\n</think>\\n\\n' + content.lstrip('\\n') }}
        {%- else %}
            {{- '[S]' + message.role + '\\n' + content }}
        {%- endif %}
        {%- if message.tool_calls %}
            {%- for call in message.tool_calls %}
                {%- if (loop.first and content) or (not loop.first) %}
                    {{- '\\n' }}
                {%- endif %}
                {%- if call.function %}
                    {%- set call = call.function %}
                {%- endif %}
                {{- '<call>\\n{"name": "' }}
                {{- call.name }}
                {{- '", "arguments": ' }}
                {%- if call.arguments is string %}
                    {{- call.arguments }}
                {%- else %}
                    {{- call.arguments | tojson }}
                {%- endif %}
                {{- '}\\n</call>' }}
            {%- endfor %}
        {%- endif %}
        {{- '[E]\\n' }}
    {%- elif message.role == "tool" %}
        {%- if loop.first or (messages[loop.index0 - 1].role != "tool") %}
            {{- '[S]user' }}
        {%- endif %}
        {{- '\\n<result>\\n' + content + '\\n</result>' }}
        {%- if loop.last or (messages[loop.index0 + 1].role != "tool") %}
            {{- '[E]\\n' }}
        {%- endif %}
    {%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}
    {{- '[S]assistant\\n' }}
    {%- if enable_thinking is defined and enable_thinking is false %}
        {{- '<think>\\n\\n</think>\\n\\n' }}
    {%- endif %}
{%- endif %}
""",
    "alternating": """{{ bos_token }}
{%- if messages[0]['role'] == 'system' -%}
    {%- if messages[0]['content'] is string -%}
        {%- set prefix = messages[0]['content'] + '\\n\\n' -%}
    {%- else -%}
        {%- set prefix = messages[0]['content'][0]['text'] + '\\n\\n' -%}
    {%- endif -%}
    {%- set rest = messages[1:] -%}
{%- else -%}
    {%- set prefix = "" -%}
    {%- set rest = messages -%}
{%- endif -%}
{%- for message in rest -%}
    {%- if (message['role'] == 'user') != (loop.index0 % 2 == 0) -%}
        {{ raise_exception("Roles must alternate user/assistant/user/...") }}
    {%- endif -%}
    {%- set role = "model" if message['role'] == 'assistant' else message['role'] -%}
    {{ '<turn>' + role + '\\n' + (prefix if loop.first else "") }}
    {%- if message['content'] is string -%}
        {{ message['content'] | trim }}
    {%- elif message['content'] is iterable -%}
        {%- for item in message['content'] -%}
            {%- if item['type'] == 'image' -%}
                {{ '<image>' }}
            {%- elif item['type'] == 'text' -%}
                {{ item['text'] | trim }}
            {%- endif -%}
        {%- endfor -%}
    {%- else -%}
        {{ raise_exception("Invalid content type") }}
    {%- endif -%}
    {{ '</turn>\\n' }}
{%- endfor -%}
{%- if add_generation_prompt -%}
    {{'<turn>model\\n'}}
{%- endif -%}
""",
    "macros": """{%- macro type_of(p) -%}
{%- if p.type is string -%}{{ p.type }}{%- if p.enum %} ({{ p.enum | map('tojson') | join(' | ') }}){% endif %}
{%- elif p.type is iterable -%}{{ p.type | join(' or ') }}
{%- else -%}any{%- endif -%}
{%- endmacro -%}
{%- macro signature(tool) %}
{%- set f = tool.function or tool %}
- {{ f.name }}({% for k, p in f.parameters.properties|dictsort %}{{ k }}{{ '' if k in (f.parameters.required or []) else '?' }}: {{ type_of(p) }}{{ ', ' if not loop.last }}{% endfor %}) -- {{ f.description|default('none', true)|trim }}
{%- endmacro -%}
{%- set state = namespace(system='', n=0) -%}
{%- for m in messages if m.role in ('system', 'developer') %}{% set state.system = state.system ~ m.content ~ '\\n' %}{% endfor -%}
#system {{ state.system|trim or 'none' }}
{%- if tools %}
Functions:
{%- for t in tools %}{{ signature(t) }}{% endfor %}
{%- endif %}
{% for m in messages if m.role not in ('system', 'developer') %}
    {% set state.n = state.n + 1 %}
    {% if m.role == 'assistant' %}
#{{ state.n }} model:
        {% generation %}
{% if m.tool_calls %}{% for c in m.tool_calls %}
CALL {{ c.function.name }} {{ c.function.arguments if c.function.arguments is string else c.function.arguments|tojson(sort_keys=true, separators=(',', ':')) }}
{% endfor %}{% endif %}{{ m.content or '' }}
        {% endgeneration %}
    {% elif m.content is string %}
#{{ state.n }} {{ m.role|upper }}{% if m.name %}[{{ m.name }}]{% endif %}: {{ m.content|replace('\\n', ' / ')|trim }}
    {% else %}
#{{ state.n }} {{ m.role|upper }}: {{ m.content|selectattr('type', 'equalto', 'text')|map(attribute='text')|join }}{{ ' +' ~ (m.content|rejectattr('type', 'equalto', 'text')|list|length) ~ ' other' }}
    {% endif %}
{% endfor %}
{% if add_generation_prompt %}#{{ state.n + 1 }} model:{% endif %}
""",
}

SPECIAL = {"bos_token": "<s>", "eos_token": "</s>"}


def chat_variables(chat):
    """What transformers passes for these arguments."""
    messages = []
    for message in chat["messages"]:
        message = {k: v for k, v in message.items() if v is not None}
        reason = next((message[k] for k in ("reasoning_content", "thinking", "reasoning") if message.get(k) is not None), None)
        if reason is not None:
            message = {"thinking": reason, **message, "reasoning_content": reason}
        messages.append(message)
    return {"documents": None, **SPECIAL, **chat.get("kwargs", {}), "messages": messages, "tools": chat.get("tools"),
            "add_generation_prompt": chat.get("prompt", True)}


def feature_cases():
    for template in FEATURES.split("\n") + MORE:
        text = render(template, V)
        yield {"t": template, "e": True} if text is None else {"t": template, "o": text}


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--out", type=pathlib.Path, default=HERE.parent / "data" / "template")
    p.add_argument("--corpus", type=pathlib.Path)
    a = p.parse_args()
    a.out.mkdir(parents=True, exist_ok=True)
    cases = list(feature_cases())
    features = {"v": V, "cases": cases}
    chats = {"templates": CHAT_TEMPLATES, "special": SPECIAL, "chats": CHATS, "expect": {
        name: {chat: render(t, chat_variables(c)) for chat, c in CHATS.items()} for name, t in CHAT_TEMPLATES.items()}}
    for name, data in (("features", features), ("chats", chats)):
        (a.out / f"{name}.json").write_text(json.dumps(data, ensure_ascii=False, indent=0) + "\n", encoding="utf-8")
    print(len(cases), "feature templates,", sum("e" in c for c in cases), "of them raise;",
          sum(len(x) for x in chats["expect"].values()), "chats,",
          sum(v is None for x in chats["expect"].values() for v in x.values()), "of them raise")
    if a.corpus:
        a.corpus.mkdir(parents=True, exist_ok=True)
        for t in [c["t"] for c in cases] + list(CHAT_TEMPLATES.values()):
            (a.corpus / hashlib.sha1(t.encode()).hexdigest()[:16]).write_bytes(t.encode())


if __name__ == "__main__":
    main()

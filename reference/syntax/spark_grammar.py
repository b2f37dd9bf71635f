"""The grammar of Spark 4's MERGE, queries and expressions, in the notation of ``mergecheck.reference.syntax.grammar``.

Written after SqlBaseParser.g4 of Spark 4.2, with the settings that are the default. ``BEYOND`` lists the words and
symbols of clauses that are left out: a text that has any of them and cannot be read may still be Spark's.
"""

from __future__ import annotations

from typing import Final

from mergecheck.reference.syntax.grammar import Grammar, grammar

BEYOND: Final = frozenset(
    [
        "TRANSFORM",
        "REDUCE",
        "NEAREST",
        "CHANGES",
        "STREAM",
        "WATERMARK",
        "IDENTIFIED",
        "RECURSIVE",
        "RECURSION",
        "INTERVAL",
        "TABLE",
        "ROW",
        "TIME",
        ":",
        "?",
    ]
)

_STATEMENT: Final = """
statement = ctes? MERGE evolution? INTO target target_alias? USING source source_alias? ON expression clause* ';'*
evolution = WITH SCHEMA EVOLUTION
target = reference
source = reference | '(' query ')'
target_alias = alias
source_alias = alias
reference = IDENTIFIER '(' expression ')' | multipart
alias = AS? strict_name names?
names = '(' name % ',' ')'
clause = matched | not_matched | not_matched_by_source
matched = WHEN MATCHED condition? THEN matched_action
not_matched = WHEN negation MATCHED by_target? condition? THEN INSERT inserted
not_matched_by_source = WHEN negation MATCHED BY SOURCE condition? THEN source_action
negation = NOT | '!'
by_target = BY TARGET
condition = AND expression
matched_action = DELETE | UPDATE SET '*' | UPDATE SET assignments
source_action = DELETE | UPDATE SET assignments
assignments = assignment % ','
assignment = multipart equals expression
equals = '=' | '=='
inserted = '*' | '(' multipart % ',' ')' VALUES '(' expression % ',' ')'
multipart = name % '.'
name = <word> | <strict> | <quoted>
strict_name = <word> | <quoted>
"""

_EXPRESSION: Final = """
expression = conjunction % OR
conjunction = negated % AND
negated = negation negated | EXISTS '(' query ')' | predicated
predicated = comparison predicate?
predicate = NOT? BETWEEN comparison AND comparison
  | NOT? IN '(' query ')' | NOT? IN '(' expression % ',' ')'
  | NOT? ( RLIKE | REGEXP ) comparison
  | NOT? ( LIKE | ILIKE ) ( ANY | SOME | ALL ) '(' expression % ',' ')'
  | NOT? ( LIKE | ILIKE ) comparison ( ESCAPE text )?
  | IS NOT? ( NULL | TRUE | FALSE | UNKNOWN )
  | IS NOT? DISTINCT FROM comparison
comparison = bit_or % compared
compared = '=' | '==' | '<>' | '!=' | '<' | '<=' | '!>' | '>' | '>=' | '!<' | '<=>'
bit_or = bit_xor % '|'
bit_xor = bit_and % '^'
bit_and = shift % '&'
shift = sum % ( '<<' | '>>' | '>>>' )
sum = product % ( '+' | '-' | '||' )
product = signed % ( '*' | '/' | '%' | DIV )
signed = ( '-' | '+' | '~' ) signed | primary
primary = atom suffix*
suffix = '.' name | '[' comparison ']' | '::' type | COLLATE multipart
atom = case | cast | struct | special | interval | constant | star | row | '(' query ')' | parameter | call | lambda
  | column | '(' expression ')'
parameter = '?' | ':' name
case = CASE expression? when+ ( ELSE expression )? END
when = WHEN expression THEN expression
cast = ( CAST | TRY_CAST ) '(' expression AS type ')'
struct = STRUCT '(' ( named % ',' )? ')'
special = ( FIRST | LAST | ANY_VALUE ) '(' expression IGNORE NULLS ')'
  | POSITION '(' comparison IN comparison ')'
  | EXTRACT '(' name FROM comparison ')'
  | ( SUBSTR | SUBSTRING ) '(' comparison FROM comparison ( FOR comparison )? ')'
  | TRIM '(' ( BOTH | LEADING | TRAILING )? comparison? FROM comparison ')'
  | OVERLAY '(' comparison PLACING comparison FROM comparison ( FOR comparison )? ')'
interval = INTERVAL ( '-' | '+' )? <string> unit TO unit
  | INTERVAL ( ( '-' | '+' )? ( <integer> | <number> | <string> ) unit )+ | INTERVAL <string>
unit = YEAR | YEARS | MONTH | MONTHS | WEEK | WEEKS | DAY | DAYS | HOUR | HOURS | MINUTE | MINUTES | SECOND | SECONDS
  | MILLISECOND | MILLISECONDS | MICROSECOND | MICROSECONDS | NANOSECOND | NANOSECONDS
constant = NULL | TRUE | FALSE | typed | '-'? ( <integer> | <number> ) | text
typed = ( DATE | TIMESTAMP | TIMESTAMP_NTZ | TIMESTAMP_LTZ | X ) <string>
text = <string>+
star = '*' except? | multipart '.' '*' except?
except = EXCEPT '(' multipart % ',' ')'
row = '(' named ',' named % ',' ')'
named = expression ( AS? ( name | names ) )?
call = function '(' ( quantifier? argument % ',' )? ')' within? filter? nulls? over?
function = IDENTIFIER '(' expression ')' | multipart
quantifier = DISTINCT | ALL
argument = expression | name '=>' expression
within = WITHIN GROUP '(' ORDER BY sorted % ',' ')'
filter = FILTER '(' WHERE expression ')'
nulls = ( IGNORE | RESPECT ) NULLS
over = OVER window
lambda = name '->' expression | '(' name ',' name % ',' ')' '->' expression
column = name
window = name | '(' name ')' | '(' partitioned? ( ( ORDER | SORT ) BY sorted % ',' )? frame? ')'
partitioned = ( PARTITION | DISTRIBUTE | CLUSTER ) BY expression % ','
sorted = expression ( ASC | DESC )? ( NULLS ( FIRST | LAST ) )?
frame = ( ROWS | RANGE ) bound | ( ROWS | RANGE ) BETWEEN bound AND bound
bound = UNBOUNDED ( PRECEDING | FOLLOWING ) | CURRENT ROW | expression ( PRECEDING | FOLLOWING )
type = ARRAY '<' type '>' | MAP '<' type ',' type '>' | STRUCT '<' field % ',' '>' | STRUCT ( '<' '>' | '<>' )
  | ( DECIMAL | DEC | NUMERIC ) ( '(' <integer> ( ',' <integer> )? ')' )?
  | ( CHAR | CHARACTER | VARCHAR ) '(' <integer> ')' | plain_type
plain_type = BOOLEAN | TINYINT | BYTE | SMALLINT | SHORT | INT | INTEGER | BIGINT | LONG | FLOAT | REAL | DOUBLE | DATE
  | TIMESTAMP | TIMESTAMP_NTZ | TIMESTAMP_LTZ | STRING | BINARY | VOID | VARIANT
field = name ':'? type ( NOT NULL )? ( COMMENT text )?
"""

_QUERY: Final = """
ctes = WITH cte % ','
cte = name names? AS? '(' query ')'
query = ctes? query_term pipe* organization
pipe = '|>' pipe_step
pipe_step = SELECT hint* quantifier? named % ',' windows? | EXTEND named % ',' | SET pipe_set % ',' | DROP name % ','
  | AGGREGATE ( named % ',' )? pipe_grouping? | AS name | where | pivot | unpivot | sample | join
  | ( UNION | EXCEPT | MINUS | INTERSECT ) quantifier? query_primary | organization
pipe_set = name equals expression
pipe_grouping = GROUP BY named % ',' | grouping
organization = ( ORDER BY sorted % ',' )? ( CLUSTER BY expression % ',' )? ( DISTRIBUTE BY expression % ',' )?
  ( SORT BY sorted % ',' )? windows? ( LIMIT ( ALL | expression ) )? ( OFFSET expression )?
windows = WINDOW ( name AS window ) % ','
query_term = intersection ( ( UNION | EXCEPT | MINUS ) quantifier? intersection )*
intersection = query_primary ( INTERSECT quantifier? query_primary )*
query_primary = select | from_first | table_query | values | '(' query ')'
table_query = TABLE reference
select = SELECT hint* quantifier? named % ',' from? lateral_view* where? grouping? having? windows?
  qualify?
from_first = from ( SELECT hint* quantifier? named % ',' lateral_view* where? grouping? having? windows? qualify?
  organization )*
hint = '/*+' hint_item ( ','? hint_item )* '*/'
hint_item = name ( '(' primary % ',' ')' )?
from = FROM relation % ',' lateral_view* pivot? unpivot?
where = WHERE expression
having = HAVING expression
qualify = QUALIFY expression
grouping = GROUP BY group % ',' | GROUP BY expression % ',' ( WITH ROLLUP | WITH CUBE
  | GROUPING SETS '(' group_set % ',' ')' )?
group = grouping_sets | expression
grouping_sets = ( ROLLUP | CUBE ) '(' group_set % ',' ')' | GROUPING SETS '(' ( grouping_sets | group_set ) % ',' ')'
group_set = '(' ( expression % ',' )? ')' | expression
lateral_view = LATERAL VIEW OUTER? multipart '(' ( expression % ',' )? ')' name ( AS? name % ',' )?
relation = LATERAL? relation_primary ( join | pivot | unpivot )*
join = join_type JOIN LATERAL? relation_primary join_on? | NATURAL join_type JOIN LATERAL? relation_primary
join_type = ( LEFT OUTER? | RIGHT OUTER? | FULL OUTER? | LEFT? SEMI | LEFT? ANTI | INNER | CROSS )?
join_on = ON expression | USING names
pivot = PIVOT '(' named % ',' FOR ( name | names ) IN '(' pivoted % ',' ')' ')' ( AS? name )?
pivoted = expression ( AS? name )?
unpivot = UNPIVOT ( ( INCLUDE | EXCLUDE ) NULLS )? '(' ( one_value | several_values ) ')' ( AS? name )?
one_value = name FOR name IN '(' unpivoted % ',' ')'
several_values = '(' name % ',' ')' FOR name IN '(' unpivoted_set % ',' ')'
unpivoted = multipart ( AS? name )?
unpivoted_set = '(' multipart % ',' ')' ( AS? name )?
relation_primary = reference version? options? sample? alias? | '(' query ')' sample? alias?
  | '(' relation ')' sample? alias? | values | function '(' ( argument % ',' )? ')' alias?
sample = TABLESAMPLE '(' sampled ')' ( REPEATABLE '(' <integer> ')' )?
sampled = '-'? ( <integer> | <number> ) PERCENT | expression ROWS
  | BUCKET <integer> OUT OF <integer>
version = FOR? ( VERSION | SYSTEM_VERSION ) AS OF ( <integer> | <string> )
  | FOR? ( TIMESTAMP | SYSTEM_TIME ) AS OF comparison
options = WITH '(' option % ',' ')'
option = ( multipart | <string> ) ( '='? ( <integer> | <string> | <number> | TRUE | FALSE ) )?
values = VALUES expression % ',' alias?
"""

SPARK: Final[Grammar] = grammar(_STATEMENT + _EXPRESSION + _QUERY)

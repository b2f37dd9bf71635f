{% macro upsert(table, source, unique_key, columns, version) -%}
MERGE INTO {{ table }} t
USING {{ source }} s
ON {% for column in unique_key %}t.{{ column }} = s.{{ column }}{{ " AND " if not loop.last }}{% endfor %}
WHEN MATCHED AND s.{{ version }} > t.{{ version }} THEN UPDATE SET
  {% for column in columns %}{{ column }} = s.{{ column }}{{ ", " if not loop.last }}{% endfor %}
WHEN NOT MATCHED THEN INSERT ({{ columns | join(", ") }})
  VALUES ({% for column in columns %}s.{{ column }}{{ ", " if not loop.last }}{% endfor %})
{%- endmacro %}

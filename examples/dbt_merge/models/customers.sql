{% from "macros/upsert.sql" import upsert %}
{{ upsert(this, ref("customer_updates"), unique_key=["id"], columns=["id", "name", "version"], version="version") }}

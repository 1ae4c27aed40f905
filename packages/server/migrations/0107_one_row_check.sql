-- contract
-- `api_keys_row_checked` of 0105 checks all of it.
alter table api_keys drop constraint api_keys_checked;
drop function api_keys_checked(
  text, bytea, json, text, jsonb, text, text[], timestamptz, text, text, text[]);

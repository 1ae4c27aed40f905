-- contract
-- `api_keys_checked` of 0100 checks all of it.
alter table api_keys drop constraint api_keys_row_checked;
drop function api_keys_row_checked(
  text, bytea, json, text, jsonb, text, text[], timestamptz, text, text);

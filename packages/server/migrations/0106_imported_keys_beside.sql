-- expand, outside a transaction
alter table api_keys validate constraint api_keys_row_checked;

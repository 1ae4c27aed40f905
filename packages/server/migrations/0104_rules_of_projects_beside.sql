-- expand, outside a transaction
alter table projects validate constraint projects_lifetime;
alter table projects validate constraint projects_max_key_lifetime_days_bounds;

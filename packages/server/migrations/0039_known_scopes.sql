-- expand
-- The scopes of the vendor's API, in the order in which forms offer them for a new key; the only ones if the project is
-- strict. Null: no list, which a statement can see without reading a long one.
alter table projects
  add column known_scopes text[],
  add column strict_scopes boolean not null default false;
alter table projects add constraint projects_known_scopes_bounds
  check (known_scopes is null or cardinality(known_scopes) between 1 and 200 and lengths_between(known_scopes, 1, 200))
  not valid;

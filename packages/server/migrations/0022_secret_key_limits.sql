-- The limits of a secret key. Null, as in every key so far: without that limit.

alter table secret_keys
  add column permissions text[],
  add column project_ids uuid[],
  add column allowed_cidrs text[],
  add constraint secret_keys_permissions_bounds check (
    permissions is null or cardinality(permissions) between 1 and 64 and lengths_between(permissions, 3, 40)),
  add constraint secret_keys_project_ids_bounds check (cardinality(project_ids) between 1 and 50),
  add constraint secret_keys_allowed_cidrs_bounds check (
    allowed_cidrs is null or cardinality(allowed_cidrs) between 1 and 32 and lengths_between(allowed_cidrs, 4, 43));

-- expand, outside a transaction
-- No process of this release has served yet, so no row has such a list.
alter table projects validate constraint projects_known_scopes_bounds;

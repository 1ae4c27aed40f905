-- expand
-- Two logins: one owns the tables and migrates, the other one serves, as a member of `keyrail_serve`. That role is
-- optional, so no migration grants to it. Instead this names the statements that it still lacks, for every table of the
-- owner, also of the job queue and of later migrations; keyrail migrate runs them.

-- The audit log is only read by the service itself; its transactions append to it as keyrail_app. Migrations are the
-- owner's.
create function service_rights() returns setof text language sql stable as $$
  with role as (select oid from pg_roles where rolname = 'keyrail_serve'),
  ours as (
    select c.oid, c.relkind, c.relrowsecurity, format('%I.%I', n.nspname, c.relname) as name,
      case when n.nspname <> 'public' then 'select, insert, update, delete'
        when c.relname in ('audit_logs', 'audit_addresses', 'keyrail_migrations') then 'select'
        -- The daily verification notes its result there.
        when c.relname = 'audit_heads' then 'select, update'
        else 'select, insert, update, delete' end as needed
    from pg_class c join pg_namespace n on n.oid = c.relnamespace
    where n.nspname in ('public', 'graphile_worker') and c.relkind in ('r', 'p', 'v', 'S')
      and c.relowner = (select relowner from pg_class where oid = 'public.workspaces'::regclass)
      and pg_has_role(c.relowner, 'usage')
  ),
  schemas as (
    select n.oid, n.nspname from pg_namespace n
    where n.nspname in ('public', 'graphile_worker') and exists (select from ours)
  )
  select format('grant usage on schema %I to keyrail_serve', s.nspname) from schemas s, role
    where not has_schema_privilege(role.oid, s.oid, 'usage')
  union all
  select format('grant %s on %s to keyrail_serve', o.needed, o.name) from ours o, role
    where o.relkind <> 'S' and exists (
      select from unnest(string_to_array(o.needed, ', ')) one where not has_table_privilege(role.oid, o.oid, one))
  union all
  select format('grant usage, select on sequence %s to keyrail_serve', o.name) from ours o, role
    where o.relkind = 'S' and not has_sequence_privilege(role.oid, o.oid, 'usage')
  union all
  select format('create policy keyrail_serve on %s for %s to keyrail_serve using (true)', o.name,
      case when o.needed = 'select' then 'select' else 'all' end)
    from ours o, role
    where o.relrowsecurity
      and not exists (select from pg_policy p where p.polrelid = o.oid and p.polname = 'keyrail_serve')
  union all
  select format('grant execute on function %s to keyrail_serve', p.oid::regprocedure)
    from pg_proc p join schemas s on s.oid = p.pronamespace, role
    where p.prokind = 'f' and pg_has_role(p.proowner, 'usage') and not has_function_privilege(role.oid, p.oid, 'execute')
$$;
revoke execute on function service_rights() from public;

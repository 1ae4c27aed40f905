-- expand
-- From which address each change was made: personal data, so it is beside the chain as e-mail addresses are, and can be erased.
-- Unlike these it is in no hashed byte. One row for all that a transaction appends, since they have one caller. No foreign key,
-- which would lock the audit row that the same statement has just written.
create table audit_callers (
  workspace_id uuid not null,
  first_seq bigint not null,
  last_seq bigint not null,
  ip text not null constraint audit_callers_ip_bounds check (char_length(ip) between 1 and 64),
  constraint audit_callers_order check (first_seq >= 1 and last_seq >= first_seq),
  primary key (workspace_id, first_seq)
);

alter table audit_callers enable row level security;
create policy audit_callers_scope on audit_callers to keyrail_app using (workspace_id = app_workspace_id());
grant select, insert on audit_callers to keyrail_app;

-- As before, with the caller's address.
create function audit_append(
  of_workspace uuid, by_type text, by_id text, at timestamptz,
  actions text[], target_types text[], target_ids uuid[], envs text[], payloads text[], addresses jsonb,
  caller_ip text
) returns bigint
language plpgsql as $$
declare
  head audit_heads;
  next_hash bytea;
begin
  select h.workspace_id, h.seq, h.hash into strict head from audit_heads h
    where h.workspace_id = of_workspace for update;
  for i in 1 .. cardinality(actions) loop
    head.seq := head.seq + 1;
    next_hash := sha256('keyrail-audit-v1'::bytea || '\x0a'::bytea || head.hash || convert_to(
      audit_canonical(of_workspace, head.seq, actions[i], by_type, by_id, target_types[i], target_ids[i],
        envs[i], at, payloads[i]), 'UTF8'));
    insert into audit_logs (workspace_id, seq, action, actor_type, actor_id, target_type, target_id, env,
        payload, created_at, prev_hash, hash)
      values (of_workspace, head.seq, actions[i], by_type, by_id, target_types[i], target_ids[i], envs[i],
        payloads[i], at, head.hash, next_hash);
    head.hash := next_hash;
  end loop;
  -- Addresses name their row by its place in the arrays, since its seq was not known before.
  if addresses is not null then
    insert into audit_addresses (workspace_id, seq, path, address, salt)
      select of_workspace, head.seq - cardinality(actions) + (a->>'row')::int, a->>'path', a->>'address',
        decode(a->>'salt', 'base64')
      from jsonb_array_elements(addresses) a;
  end if;
  if caller_ip is not null then
    insert into audit_callers (workspace_id, first_seq, last_seq, ip)
      values (of_workspace, head.seq - cardinality(actions) + 1, head.seq, caller_ip);
  end if;
  update audit_heads h set seq = head.seq, hash = head.hash where h.workspace_id = of_workspace;
  return head.seq;
end $$;

-- For the release before, which gives none.
create or replace function audit_append(
  of_workspace uuid, by_type text, by_id text, at timestamptz,
  actions text[], target_types text[], target_ids uuid[], envs text[], payloads text[], addresses jsonb
) returns bigint
language plpgsql as $$
begin
  return audit_append(of_workspace, by_type, by_id, at, actions, target_types, target_ids, envs, payloads, addresses, null);
end $$;

-- The login that serves only reads it, as the rest of the audit log.
create or replace function service_rights() returns setof text language sql stable as $$
  with role as (select oid from pg_roles where rolname = 'keyrail_serve'),
  ours as (
    select c.oid, c.relkind, c.relrowsecurity, format('%I.%I', n.nspname, c.relname) as name,
      case when n.nspname <> 'public' then 'select, insert, update, delete'
        when c.relname in ('audit_logs', 'audit_addresses', 'audit_callers', 'keyrail_migrations') then 'select'
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

-- The audit chain: one row per mutation, each hashed over the row before it, and a head that records where the chain
-- ends. The application's role may add rows and read them; it cannot change or delete one.

create table audit_heads (
  workspace_id uuid primary key references workspaces (id),
  seq bigint not null constraint audit_heads_seq check (seq >= 0),
  hash bytea not null constraint audit_heads_hash_length check (octet_length(hash) = 32)
);

create table audit_logs (
  workspace_id uuid not null references workspaces (id),
  seq bigint not null constraint audit_logs_seq check (seq >= 1),
  -- None of these needs escaping inside a JSON string; audit_canonical relies on it.
  action text not null constraint audit_logs_action check (action ~ '^[a-z_]+\.[a-z_]+$'),
  actor_type text not null constraint audit_logs_actor_type check (actor_type ~ '^[a-z_]+$'),
  actor_id text constraint audit_logs_actor_id check (actor_id ~ '^[A-Za-z0-9._:-]{1,128}$'),
  target_type text not null constraint audit_logs_target_type check (target_type ~ '^[a-z_]+$'),
  target_id uuid not null,
  env text constraint audit_logs_env check (env in ('live', 'test')),
  -- The RFC 8785 form, byte for byte as it was hashed. Text, because jsonb would reorder it.
  payload text not null constraint audit_logs_payload check (json_typeof(payload::json) = 'object'),
  created_at timestamptz(3) not null,
  prev_hash bytea not null constraint audit_logs_prev_hash_length check (octet_length(prev_hash) = 32),
  hash bytea not null constraint audit_logs_hash_length check (octet_length(hash) = 32),
  primary key (workspace_id, seq)
);

-- A person's address, apart from the hashed bytes so that it can be erased and the chain stays valid: the payload has,
-- at the same path with the suffix _hash, SHA-256(salt ‖ address).
create table audit_addresses (
  workspace_id uuid not null,
  seq bigint not null,
  path text not null,
  address text not null,
  salt bytea not null constraint audit_addresses_salt_length check (octet_length(salt) = 16),
  primary key (workspace_id, seq, path),
  foreign key (workspace_id, seq) references audit_logs (workspace_id, seq)
);

-- The hashed bytes: RFC 8785 of the row, members in the order of their names.
create function audit_canonical(
  workspace_id uuid, seq bigint, action text, actor_type text, actor_id text, target_type text, target_id uuid,
  env text, created_at timestamptz, payload text
) returns text
language sql stable as $$
  select '{"action":"' || action
    || '","actor_id":' || coalesce('"' || actor_id || '"', 'null')
    || ',"actor_type":"' || actor_type
    || '","created_at":"' || to_char(created_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')
    || '","env":' || coalesce('"' || env || '"', 'null')
    || ',"payload":' || payload
    || ',"seq":' || seq
    || ',"target_id":"' || target_id
    || '","target_type":"' || target_type
    || '","workspace_id":"' || workspace_id || '"}'
$$;

-- Appends rows to one workspace's chain, in the order of the array. The head's row lock determines the order; it is
-- taken here, at the very end of a transaction, and held until the commit that follows directly. One statement, so that
-- no round trip passes while a busy workspace waits for the lock.
create function audit_append(
  of_workspace uuid, by_type text, by_id text, at timestamptz,
  actions text[], target_types text[], target_ids uuid[], envs text[], payloads text[], addresses jsonb
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
  update audit_heads h set seq = head.seq, hash = head.hash where h.workspace_id = of_workspace;
  return head.seq;
end $$;

alter table audit_heads enable row level security;
create policy audit_heads_scope on audit_heads to keyrail_app using (workspace_id = app_workspace_id());
grant select, insert, update on audit_heads to keyrail_app;

alter table audit_logs enable row level security;
create policy audit_logs_scope on audit_logs to keyrail_app using (workspace_id = app_workspace_id());
grant select, insert on audit_logs to keyrail_app;

alter table audit_addresses enable row level security;
create policy audit_addresses_scope on audit_addresses to keyrail_app using (workspace_id = app_workspace_id());
grant select, insert on audit_addresses to keyrail_app;

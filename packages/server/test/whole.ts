/**
 * What must hold in a workspace after any number of mutations, even if processes were killed: each mutation is
 * there with its rows, its audit row and its version bump, or it is not there at all. Reads only the database,
 * so it also checks a service that has just died.
 */
export type Query = (text: string, values?: unknown[]) => Promise<Record<string, unknown>[]>

/** @param isDeleted whether rows may be deleted after their end. */
const born = (table: string, ids: string, isDeleted = false) => `
  select '${table}: ' || count(b.id) || ' audit rows of its birth' as fault, coalesce(t.id, b.id)::text as id
  from (select id from ${table} where workspace_id = $1) t
  full join (${ids}) b on b.id = t.id
  group by t.id, b.id having ${isDeleted ? 't.id is not null and count(b.id) <> 1' : 'count(b.id) <> 1 or t.id is null'}`

/** Ended rows that were deleted are only counted in the audit log. */
const gone = (table: string, births: string, action: string) => `
  select '${table}: ' || missing || ' births without a row, ' || deleted || ' deleted', null
  from (select count(*) as missing from (${births}) b
      where not exists (select from ${table} t where t.workspace_id = $1 and t.id = b.id)) m,
    (select coalesce(sum(each.value::int), 0) as deleted
      from audit_logs l, json_each_text(l.payload::json->'keys_deleted') each
      where l.workspace_id = $1 and l.action = '${action}') d
  where missing <> deleted`

const created = (action: string) =>
  `select target_id as id from audit_logs where workspace_id = $1 and action = '${action}'`
const successors = (action: string) => `select (payload::json->'successor'->>'id')::uuid
  from audit_logs where workspace_id = $1 and action = '${action}'`

const ended = (table: string, state: string, action: string) => `
  select '${table}: ${state} but ' || count(l.seq) || ' rows of ${action}', t.id::text
  from ${table} t left join audit_logs l
    on l.workspace_id = t.workspace_id and l.target_id = t.id and l.action = '${action}'
  where t.workspace_id = $1
  group by t.id, t.${state} having count(l.seq) <> case when t.${state} is null then 0 else 1 end`

const rotated = (table: string, action: string) => `
  select '${table}: successors and rows of ${action} differ', t.id::text
  from ${table} t
  where t.workspace_id = $1
    and ((select count(*) from ${table} s where s.workspace_id = $1 and s.rotated_from = t.id)
      <> (select count(*) from audit_logs l
          where l.workspace_id = $1 and l.target_id = t.id and l.action = '${action}')
      or (t.rotated_to is not null
        and not exists (select from ${table} s where s.id = t.rotated_to and s.rotated_from = t.id))
      or (t.rotated_to is null
        and exists (select from ${table} s where s.workspace_id = $1 and s.rotated_from = t.id)))`

/** The name must equal the last one in the audit log. */
const renamed = (table: string, type: string) => `
  select '${table}: its name differs from the last audit row', t.id::text
  from ${table} t join lateral (
    select payload::json->'name'->>'new' as name from audit_logs l
    where l.workspace_id = $1 and l.target_type = '${type}' and l.target_id = t.id
      and l.action like '%.updated' and payload::jsonb ? 'name'
    order by l.seq desc limit 1) last on last.name is distinct from t.name
  where t.workspace_id = $1`

/** A key is paused exactly if the last audit row about its pause says so, and by whom. */
const paused = `
  select 'api_keys: its pause differs from the last audit row', t.id::text
  from api_keys t left join lateral (
    select case l.action when 'api_key.disabled' then l.payload::json->>'disabled_by' end as by from audit_logs l
    where l.workspace_id = $1 and l.target_id = t.id and l.action in ('api_key.disabled', 'api_key.enabled')
    order by l.seq desc limit 1) last on true
  where t.workspace_id = $1 and t.disabled_by is distinct from last.by`

/** The networks of keys and tenants are those of the last audit row about them. */
const restricted = (table: string, type: string) => `
  select '${table}: its networks differ from the last audit row', t.id::text
  from ${table} t join lateral (
    select payload::jsonb->'allowed_cidrs'->'new' as list from audit_logs l
    where l.workspace_id = $1 and l.target_type = '${type}' and l.target_id = t.id
      and l.action = '${type}.updated' and payload::jsonb ? 'allowed_cidrs'
    order by l.seq desc limit 1) last on last.list is distinct from coalesce(to_jsonb(t.allowed_cidrs), 'null')
  where t.workspace_id = $1`

/** A tenant is suspended exactly if the last audit row about that says so, and for that reason. */
const suspended = `
  select 'tenants: its suspension differs from the last audit row', t.id::text
  from tenants t left join lateral (
    select l.action = 'tenant.suspended' as is_so, l.payload::json->>'reason' as reason from audit_logs l
    where l.workspace_id = $1 and l.target_id = t.id and l.action in ('tenant.suspended', 'tenant.resumed')
    order by l.seq desc limit 1) last on true
  where t.workspace_id = $1 and ((t.suspended_at is not null) is distinct from coalesce(last.is_so, false)
    or t.suspended_reason is distinct from last.reason)`

/** A suspension or resumption has a version in a project exactly if there was one, at most that of the tenant's last change. */
const suspensionVersions = `
  select 'policy_tenants: the version of its suspension', p.tenant_id::text
  from policy_tenants p
  where p.workspace_id = $1 and p.suspended_version is not null and (p.suspended_version > p.version or not exists (
    select from audit_logs l where l.workspace_id = $1 and l.target_id = p.tenant_id and l.action = 'tenant.suspended'))`

/** A tenant got networks or lost all in a project only by an update, at most at the version of its last change. */
const networkVersions = `
  select 'policy_tenants: the version of its networks', p.tenant_id::text
  from policy_tenants p
  where p.workspace_id = $1 and p.networks_version is not null and (p.networks_version > p.version or not exists (
    select from audit_logs l where l.workspace_id = $1 and l.target_id = p.tenant_id and l.action = 'tenant.updated'
      and l.payload::jsonb ? 'allowed_cidrs'))`

/** The last audit row of each member must match the membership and the role. */
const standing = `
  select 'workspace_members: differs from the last audit row', l.target_id::text
  from (
    select distinct on (target_id) target_id, action, payload::json as payload from audit_logs
    where workspace_id = $1 and target_type = 'workspace_member' order by target_id, seq desc) l
  left join workspace_members m on m.workspace_id = $1 and m.user_id = l.target_id
  where case l.action
    when 'workspace_member.removed' then m.removed_at is null
    when 'workspace_member.joined' then m.removed_at is not null or m.role is distinct from l.payload->>'role'
    else m.removed_at is not null or m.role is distinct from l.payload->'role'->>'new' end`

const keyBirths = `${created('api_key.created')} union all ${created('api_key.imported')}
  union all ${successors('api_key.rotated')}`
const secretKeyBirths = `${created('secret_key.created')} union all ${successors('secret_key.rotated')}`

const faults = `
  ${born('api_keys', keyBirths, true)}
  union all ${gone('api_keys', keyBirths, 'api_key.ended_deleted')}
  union all ${born('secret_keys', secretKeyBirths, true)}
  union all ${gone('secret_keys', secretKeyBirths, 'secret_key.ended_deleted')}
  union all ${born('projects', created('project.created'))}
  union all ${born('tenants', created('tenant.created'))}
  union all ${ended('api_keys', 'revoked_at', 'api_key.revoked')}
  union all ${ended('secret_keys', 'revoked_at', 'secret_key.revoked')}
  union all ${ended('projects', 'deleted_at', 'project.deleted')}
  union all ${ended('tenants', 'deleted_at', 'tenant.deleted')}
  union all ${rotated('api_keys', 'api_key.rotated')}
  union all ${rotated('secret_keys', 'secret_key.rotated')}
  union all ${renamed('api_keys', 'api_key')}
  union all ${renamed('secret_keys', 'secret_key')}
  union all ${renamed('projects', 'project')}
  union all ${renamed('tenants', 'tenant')}
  union all ${born('workspace_invites', created('workspace_invite.created'))}
  union all ${ended('workspace_invites', 'revoked_at', 'workspace_invite.revoked')}
  union all ${paused}
  union all ${suspended}
  union all ${suspensionVersions}
  union all ${restricted('api_keys', 'api_key')}
  union all ${restricted('tenants', 'tenant')}
  union all ${networkVersions}
  union all ${standing}
  union all
  select 'workspace: ' || count(*) || ' rows of workspace.created', $1::text
  from audit_logs where workspace_id = $1 and action = 'workspace.created' having count(*) <> 1
  union all
  select 'key alive under a deleted parent', k.id::text
  from api_keys k join projects p on p.workspace_id = k.workspace_id and p.id = k.project_id
    join tenants t on t.workspace_id = k.workspace_id and t.id = k.tenant_id
  where k.workspace_id = $1 and k.revoked_at is null and (k.expires_at is null or k.expires_at > now())
    and (p.deleted_at is not null or t.deleted_at is not null)
  union all
  select 'policy head and project disagree on deletion', p.id::text
  from projects p left join policy_heads h on h.workspace_id = p.workspace_id and h.project_id = p.id
  where p.workspace_id = $1 and h.project_deleted is distinct from (p.deleted_at is not null)
  union all
  select 'credential and key differ', coalesce(c.id, k.id)::text
  from (select digest, id from credentials where workspace_id = $1 and kind = 'api_key') c
    full join (select lookup_hash, id from api_keys where workspace_id = $1) k
      on k.id = c.id and k.lookup_hash = c.digest
  where c.id is null or k.id is null and not exists (select from audit_logs l
    where l.workspace_id = $1 and l.action = 'api_key.imported' and l.target_id = c.id)
  union all
  select 'credential and secret key differ', coalesce(c.id, k.id)::text
  from (select id from credentials where workspace_id = $1 and kind = 'secret_key') c
    full join (select id from secret_keys where workspace_id = $1) k on k.id = c.id
  where c.id is null or k.id is null
  union all
  select 'the epoch differs from the log', t.id::text
  from tenants t
  where t.workspace_id = $1 and t.embed_epoch <> 1 + (select count(*) from audit_logs l
    where l.workspace_id = $1 and l.target_id = t.id
      and l.action in ('tenant.embed_tokens_revoked', 'tenant.deleted'))
  union all
  select 'an Idempotency-Key without its answer', key
  from replays where workspace_id = $1 and (status is null or body is null)`

const inDeletedProject = `exists (select from audit_logs p where p.workspace_id = $1 and p.target_id = k.project_id
        and p.action = 'project.deleted' and p.seq < l.seq)`

/**
 * One row per version in the audit log; `keys` says whether it is also in policy_changes. An update, suspension or
 * resumption of a tenant raises the version of each project in which it has keys that are not revoked. A project whose ended keys were
 * deleted has no such history. Each batch of a bulk operation raises the version of a project once, and so does an import.
 */
const versions = `
  select coalesce(payload::json->>'project_id', payload::json->'successor'->>'project_id')::uuid as project_id, true as keys
  from audit_logs where workspace_id = $1 and action in ('api_key.created', 'api_key.rotated')
  union all
  select distinct on (payload::jsonb->'project_id', payload::jsonb->'imported_at', actor_id) (payload::json->>'project_id')::uuid, true
  from audit_logs where workspace_id = $1 and action = 'api_key.imported'
  union all
  select k.project_id, true from audit_logs l
  join api_keys k on k.workspace_id = l.workspace_id and k.id = l.target_id
  where l.workspace_id = $1 and not l.payload::jsonb ? 'bulk' and (
    l.action in ('api_key.updated', 'api_key.disabled', 'api_key.enabled')
    or (l.action = 'api_key.revoked'
      and coalesce(l.payload::json->>'reason', '') not in ('project_deleted', 'tenant_deleted')
      and not ${inDeletedProject}))
  union all
  select distinct on (l.payload::jsonb->'bulk', k.project_id) k.project_id, true from audit_logs l
  join api_keys k on k.workspace_id = l.workspace_id and k.id = l.target_id
  where l.workspace_id = $1 and l.payload::jsonb ? 'bulk' and not ${inDeletedProject}
  union all
  select distinct on (k.tenant_id, k.project_id) k.project_id, true from api_keys k
  where k.workspace_id = $1 and k.revoked_reason = 'tenant_deleted'
  union all
  select distinct on (l.seq, k.project_id) k.project_id, false from audit_logs l
  join api_keys k on k.workspace_id = l.workspace_id and k.tenant_id = l.target_id
  join (
    select target_id as id, seq from audit_logs where workspace_id = $1 and action in ('api_key.created', 'api_key.imported')
    union all
    select (payload::json->'successor'->>'id')::uuid, seq from audit_logs
    where workspace_id = $1 and action = 'api_key.rotated') b on b.id = k.id and b.seq < l.seq
  left join audit_logs r on r.workspace_id = $1 and r.target_id = k.id and r.action = 'api_key.revoked'
  where l.workspace_id = $1 and l.action in ('tenant.updated', 'tenant.suspended', 'tenant.resumed') and (r.seq is null or r.seq > l.seq)
  union all
  select target_id, false from audit_logs where workspace_id = $1
    and (action = 'project.deleted' or (action = 'project.updated' and payload::jsonb ? 'default_rate_limits'))`

const versionFaults = `
  with logged as (select project_id, count(*) as all_of_them, count(*) filter (where keys) as with_keys
                from (${versions}) v group by project_id)
  select 'policy version ' || h.version || ', the log has ' || 1 + coalesce(t.all_of_them, 0)
    || '; changes at ' || c.versions || ' versions, the log has ' || coalesce(t.with_keys, 0) as fault,
    h.project_id::text as id
  from policy_heads h left join logged t on t.project_id = h.project_id
    cross join lateral (select count(distinct version) as versions, coalesce(max(version), 1) as newest
      from policy_changes c where c.workspace_id = h.workspace_id and c.project_id = h.project_id) c
  where h.workspace_id = $1 and not exists (select from audit_logs l
      where l.workspace_id = $1 and l.action = 'api_key.ended_deleted'
        and coalesce((l.payload::json->>'project_id')::uuid, h.project_id) = h.project_id)
    and (h.version <> 1 + coalesce(t.all_of_them, 0)
    or c.versions <> coalesce(t.with_keys, 0) or c.newest > h.version)`

const chainFaults = `
  select 'audit chain: seq ' || seq || ' does not follow the row before it' as fault, $1::text as id
  from (select seq, prev_hash, lag(hash) over w as before, row_number() over w as place
        from audit_logs where workspace_id = $1 window w as (order by seq)) l
  where seq <> place or prev_hash is distinct from before and place > 1
  union all
  select 'audit head: is not at the last row', $1::text
  from audit_heads h left join lateral (select seq, hash from audit_logs l where l.workspace_id = h.workspace_id
    order by seq desc limit 1) l on true
  where h.workspace_id = $1 and (h.seq is distinct from l.seq or h.hash is distinct from l.hash)`

/** @returns one line per fault; empty if the workspace is whole. */
export async function faultsOf(query: Query, workspaceId: string): Promise<string[]> {
  const rows: Record<string, unknown>[] = []
  for (const text of [faults, versionFaults, chainFaults]) rows.push(...(await query(text, [workspaceId])))
  return rows.map(({ fault, id }) => `${fault} (${id})`)
}

import { feedMetaBytesMax } from '@keyrail/contract/feed'
import { refusedAfterSql } from '../lifecycle/lifetime.ts'
import { sql } from '../platform/db/connection.ts'
import { causeSql } from '../policy/cause.ts'

/**
 * Keys by their digests, with what a verdict needs: the project, the tenant and the effective limits. Each look-up has a row, also
 * without a key. A deleted project is returned and flagged, as in other lanes. With `offset 0` the digest alone finds the key:
 * Postgres without statistics would read all keys of the project. A text of another form than that of keys made here is looked up only
 * where the project accepts imported keys. Scopes and times come in forms that are read fast.
 */
export const findKeys = sql(
  'verify.find_keys',
  `with clock as materialized (select service_now() as now)
   select u.place, p.id is not null and p.deleted_at is null as has_project, p.accepts_imported as accepts_any,
     floor(extract(epoch from (select now from clock)) / 3600)::int as hour,
     k.id, k.tenant_id, t.external_id, k.env, k.name, array_to_json(k.scopes) as scopes,
     array_to_json(coalesce(k.allowed_cidrs, t.allowed_cidrs)) as networks,
     extract(epoch from least(k.expires_at, k.created_at + ${refusedAfterSql('p')}))::float8 * 1000 as expires_at,
     coalesce(k.created_at + ${refusedAfterSql('p')} <= (select now from clock), false)
       and (k.expires_at is null or k.created_at + ${refusedAfterSql('p')} < k.expires_at) as is_too_old,
     case when octet_length(k.meta::text) <= ${feedMetaBytesMax} then k.meta end as meta,
     case when k.id is not null then coalesce(k.rate_limits, p.default_rate_limits) end as limits,
     ${causeSql('t.suspended_at is not null', '(select now from clock)')} as cause
   from unnest($1::uuid[], $2::uuid[], $3::bytea[], $4::boolean[], $5::boolean[])
     with ordinality u(workspace_id, project_id, digest, is_test, is_own_form, place)
   left join projects p on p.workspace_id = u.workspace_id and p.id = u.project_id
   left join lateral (
     select o.id, o.project_id, o.tenant_id, o.env, o.name, o.scopes, o.meta, o.rate_limits, o.expires_at, o.revoked_at,
       o.revoked_reason, o.disabled_at, o.allowed_cidrs, o.created_at, o.workspace_id
     from api_keys o where o.workspace_id = u.workspace_id and o.lookup_hash = u.digest
       and (u.is_own_form or p.accepts_imported) offset 0
   ) k on k.project_id = u.project_id and (k.env = 'test' or not u.is_test)
   left join tenants t on t.workspace_id = k.workspace_id and t.id = k.tenant_id`,
)

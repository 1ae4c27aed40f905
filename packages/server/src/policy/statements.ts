import { hash } from 'node:crypto'
import { refusedAfterSql } from '../lifecycle/lifetime.ts'
import { type Statement, sql } from '../platform/db/connection.ts'
import { floorSql, versionSql } from '../platform/db/failover/raised.ts'
import { causeSql, isOfSuspendedSql, isSentSql } from './cause.ts'
import {
  earlierEndSql,
  type Feature,
  type Features,
  lifetimeFeature,
  suspendedFeature,
  timeSql,
} from './features.ts'

/**
 * The statements of the feed, one for each set of features that nodes name. Without features it is the statement of the
 * first version, with no additional join.
 *
 * Postgres builds the JSON text of keys and tenants: no row becomes an object here. Values whose constraints exclude
 * characters to escape are concatenated unescaped. `d.limits` has the default limits of the project.
 */
export interface FeedStatements {
  readonly features: Features
  /** Parameters: workspace, project, the id to begin after, environments, keys, bytes, and the tenants if narrowed. */
  snapshotPage(named: readonly string[], isNarrowed: boolean): Statement
  /** Parameters: workspace, project, `since`, environments, tenants or null, changes, bytes. */
  changes(named: readonly string[]): Statement
}

export function feedStatements(features: Features): FeedStatements {
  const made = new Map<string, Statement>()
  const keep = (name: string, text: (choice: Choice) => string, named: readonly string[]) => {
    // `held_ms` and its kind add no member and no condition, so they need no statement of their own.
    const chosen = withoutCovered(
      features,
      named.filter(one => Object.keys(features[one] ?? {}).length > 0),
    )
    const whole = nameStatement(name, chosen)
    const statement = made.get(whole) ?? sql(whole, text(choose(features, chosen)))
    made.set(whole, statement)
    return statement
  }
  return {
    features,
    snapshotPage: (named, isNarrowed) =>
      isNarrowed
        ? keep('policy.snapshot_page_tenants', choice => pageText(choice, narrowed), named)
        : keep('policy.snapshot_page', choice => pageText(choice, ''), named),
    changes: named => keep('policy.read_changes', changesText, named),
  }
}

/** Leaves out a feature all of whose members another feature adds too: both sets then share one statement. */
function withoutCovered(features: Features, named: readonly string[]): readonly string[] {
  const membersOf = (name: string) => {
    const { key = [], tenant = [], needed } = features[name] ?? {}
    return [...key, ...tenant, ...(needed === undefined ? [] : [needed])]
  }
  return named.toReversed().reduce<readonly string[]>((kept, name) => {
    const others = new Set(kept.filter(one => one !== name).flatMap(membersOf))
    return membersOf(name).every(member => others.has(member)) ? kept.filter(one => one !== name) : kept
  }, named)
}

/** Postgres distinguishes names by their first 63 characters. */
function nameStatement(name: string, chosen: readonly string[]): string {
  const whole = [name, ...chosen].join('.')
  return whole.length <= 63 ? whole : `${name}.${hash('sha256', whole, 'base64url').slice(0, 16)}`
}

/** The parts of a statement that depend on the named features. */
interface Choice {
  /** The object of a key, without its opening bracket. */
  key: string
  /** The object of a tenant; null: tenants are not included. */
  tenant: string | null
  /** Which tenants a snapshot lists; null: all of its keys. */
  tenantsWhere: string | null
  /** Whether the node refuses the keys of suspended tenants itself. */
  knowsSuspended: boolean
  /** The floors of the features that the node does not name. */
  floors: readonly NonNullable<Feature['floor']>[]
  /** Conditions, each beginning with `and`. */
  judgeable: string
}

function choose(features: Features, named: readonly string[]): Choice {
  const chosen = named.map(name => features[name]).filter(feature => feature !== undefined)
  const parts = (of: 'key' | 'tenant') =>
    // Features may have a member in common.
    [...new Set(chosen.flatMap((feature: Feature) => feature[of] ?? []))]
  const unnamed = Object.entries(features).filter(([name]) => !named.includes(name))
  const tenant = parts('tenant')
  const some = chosen.filter(feature => feature.tenant !== undefined).map(({ tenantsWhere }) => tenantsWhere)
  return {
    key: [
      keyMembers(named.includes(lifetimeFeature) ? 'k.expires_at' : earlierEndSql),
      ...parts('key'),
      `'}'`,
    ].join(', '),
    tenant: tenant.length === 0 ? null : `concat('{"tenant_id":"', t.id, '"', ${tenant.join(', ')}, '}')`,
    tenantsWhere: some.includes(undefined) ? null : some.map(one => `(${one})`).join(' or '),
    knowsSuspended: named.includes(suspendedFeature),
    floors: unnamed.flatMap(([, { floor }]) => floor ?? []),
    judgeable: unnamed
      .map(([, { needed }]) => (needed === undefined ? '' : ` and not coalesce(${needed}, false)`))
      .join(''),
  }
}

/** @param end SQL for the end of a key */
const keyMembers = (end: string) => `'"key_id":"', k.id, '","tenant_id":"', k.tenant_id, '","env":"', k.env,
    '","lookup_hash":"', encode(k.lookup_hash, 'base64'), '","display_prefix":"', k.display_prefix,
    '","scopes":', case when k.scopes = '{}' then '[]' else array_to_json(k.scopes)::text end,
    ',"expires_at":', coalesce(${timeSql(end)}, 'null'),
    case when coalesce(k.rate_limits, d.limits) = '[]' then ''
      else ',"rate_limits":' || coalesce(k.rate_limits, d.limits)::text end`

/** What the keys take from their project: limits, and after which time nodes refuse them. */
const fromProject = `(select default_rate_limits as limits, ${refusedAfterSql('projects')} as refused_after
      from projects where workspace_id = $1 and id = $2) d`
const narrowed = 'and k.tenant_id = any($7::uuid[])'
const isSent = isSentSql()

/**
 * One page of the keys that are neither revoked nor expired, in the order of their ids: at most `$5` keys and `$6` bytes,
 * but at least one key. `more` says whether further keys follow. A tenant stands beside the first of its keys in the page, so
 * that a page that ends early ends before both or behind both.
 */
const pageText = ({ key, tenant, tenantsWhere, judgeable }: Choice, scope: string) => `
  with found as materialized (
    select k.id, concat('{', ${key}) as json${tenant === null ? '' : ', k.tenant_id'}
    from api_keys k cross join ${fromProject}
    where k.workspace_id = $1 and k.project_id = $2 and k.id > $3 and k.env = any($4::text[]) ${scope}
      and ${isSent}${judgeable}
    order by k.id limit $5 + 1
  )${tenant === null ? '' : withTenants(tenant, tenantsWhere)}, page as materialized (
    select *, row_number() over (order by id) as place,
      sum(octet_length(json) + 1${tenant === null ? '' : ' + coalesce(octet_length(tenant) + 1, 0)'})
        over (order by id rows unbounded preceding) as bytes
    from ${tenant === null ? 'found' : 'named'}
  ), sent as (
    select * from page where place = 1 or (place <= $5 and bytes <= $6)
  )
  select (select count(*) from page) > count(*) as more, max(id::text) as last,
    string_agg(json, ',' order by id) as json,
    ${tenant === null ? 'null' : "string_agg(tenant, ',' order by id)"} as tenants
  from sent`

/** Where few tenants are listed, Postgres begins with these and neither reads nor sorts the others. */
const withTenants = (tenant: string, where: string | null) =>
  where === null
    ? `, named as (
    select f.id, f.json,
      case when row_number() over (partition by f.tenant_id order by f.id) = 1 then ${tenant} end as tenant
    from found f join tenants t on t.workspace_id = $1 and t.id = f.tenant_id
  )`
    : `, named as (
    select f.id, f.json, n.tenant from found f left join (
      select distinct on (t.id) g.id, ${tenant} as tenant
      from tenants t join found g on g.tenant_id = t.id where t.workspace_id = $1 and (${where})
      order by t.id, g.id
    ) n on n.id = f.id
  )`

/**
 * A key that this node cannot verify has no cause, but that of a suspended tenant. A node that knows suspensions gets the cause
 * that remains when the tenant is resumed.
 */
const causeOf = ({ knowsSuspended }: Choice) =>
  `',"cause":"' || ${causeSql(knowsSuspended ? null : isOfSuspendedSql)} || '"'`

/**
 * The floor of the project, and those of the features that the node does not know. A suspension or the first network of a tenant
 * makes its keys go for such a node, and the log has no change of them.
 */
const floorOf = ({ floors }: Choice) =>
  floors.length === 0 ? floorSql('h') : `greatest(${[floorSql('h'), ...floors.map(lastOf)].join(', ')})`
const lastOf = (floor: string) => `(select max(p.${floor}) from policy_tenants p
       where p.workspace_id = $1 and p.project_id = $2 and p.${floor} > $3
         and ($5::uuid[] is null or p.tenant_id = any($5)))`

/**
 * The changes after a version, each key once and as it is now, in one statement, so that the new version matches them.
 * `json` is null beyond the limits: `$6` changes and `$7` bytes.
 */
const changesText = (choice: Choice) => {
  const { key, tenant, judgeable } = choice
  return `
   select ${versionSql('h')} as version, ${floorOf(choice)} as floor, h.project_deleted as deleted,
     h.accepts_imported as imports, l.logged${tenant === null ? '' : ' + n.logged as logged'}, c.json, ${tenant === null ? 'null' : 'c.tenants'} as tenants, coalesce(c.bytes > $7, false) as is_large
   from policy_heads h
   cross join lateral (
     select count(*)::int as logged, array_agg(distinct r.key_id) as ids
     from (select key_id from policy_changes
           where workspace_id = $1 and project_id = $2 and version > $3 order by version limit $6 + 1) r
   ) l${tenant === null ? '' : changedTenants}
   left join lateral (
     with changed as ${tenant === null ? '' : 'materialized '}(
       select k.id, case when ${isSent}${judgeable}
           then concat('{"change":"upsert",', ${key})
           else concat('{"change":"tombstone","key_id":"', k.id, '","env":"', k.env,
             '","lookup_hash":"', encode(k.lookup_hash, 'base64'), '"', ${causeOf(choice)}, '}') end as json
         ${tenant === null ? '' : upsertedTenant(judgeable)}
       from api_keys k cross join ${fromProject}
       where k.workspace_id = $1 and k.id = any(l.ids) and k.env = any($4::text[])
         and ($5::uuid[] is null or k.tenant_id = any($5))
     )
     ${tenant === null ? total : totalWithTenants(tenant, judgeable)}
   ) c on l.logged${tenant === null ? '' : ' + n.logged'} <= $6
   where h.workspace_id = $1 and h.project_id = $2`
}

const upsertedTenant = (judgeable: string) =>
  `, case when ${isSent}${judgeable} then k.tenant_id end as tenant_id`

const total = `select sum(octet_length(o.json)) as bytes,
       case when sum(octet_length(o.json)) <= $7 then string_agg(o.json, ',' order by o.id) end as json
     from changed o`

const changedTenants = `
   cross join lateral (
     select count(*)::int as logged, array_agg(r.tenant_id) as ids
     from (select tenant_id from policy_tenants
           where workspace_id = $1 and project_id = $2 and version > $3 order by version limit $6 + 1) r
   ) n`

/** The tenants of the returned keys, and the changed tenants that have a key in the scope. */
const totalWithTenants = (tenant: string, judgeable: string) => `, beside as materialized (
       select t.id, ${tenant} as json
       from (
         select tenant_id as id from changed where tenant_id is not null
         union
         select r.id from unnest(n.ids) r(id) where ($5::uuid[] is null or r.id = any($5)) and exists (
           select from api_keys k where k.workspace_id = $1 and k.tenant_id = r.id and k.project_id = $2
             and k.env = any($4::text[]) and ${isSent}${judgeable})
       ) wanted join tenants t on t.workspace_id = $1 and t.id = wanted.id
     ), size as (
       select (select coalesce(sum(octet_length(json)), 0) from changed)
         + (select coalesce(sum(octet_length(json)), 0) from beside) as bytes
     )
     select bytes, case when bytes <= $7 then (select string_agg(json, ',' order by id) from changed) end as json,
       case when bytes <= $7 then (select string_agg(json, ',' order by id) from beside) end as tenants
     from size`

import type pg from 'pg'

/** Facts that only matter for a server that others run: the embedded server has the right values. */
export interface OutsideFacts {
  user: string
  isStandby: boolean
  /** Every transaction of this login begins as read-only. */
  isReadOnly: boolean
  isSuperuser: boolean
  synchronousCommit: string
  /** The standbys that commits wait for; empty: none. */
  standbyNames: string
  /** Servers and programs that receive the log of this server. Any login may count them. */
  receivers: number
  /** The receivers that commits wait for; null: the login may not see which. */
  confirming: number | null
  fsync: string
  fullPageWrites: string
  /** Connections that other programs leave for Keyrail. */
  free: number
}

/**
 * A limit of -1 means no limit. The service's own connections count as free, because each process is counted with all of its
 * own.
 */
const facts = `
  select r.rolname as user, pg_is_in_recovery() as "isStandby", r.rolsuper or r.rolbypassrls as "isSuperuser",
    current_setting('default_transaction_read_only') = 'on' as "isReadOnly",
    current_setting('synchronous_commit') as "synchronousCommit", current_setting('fsync') as fsync,
    current_setting('synchronous_standby_names') as "standbyNames",
    (select count(*)::int from pg_stat_replication) as receivers,
    case when pg_has_role('pg_read_all_stats', 'usage')
      then (select count(*)::int from pg_stat_replication where sync_state in ('sync', 'quorum')) end as confirming,
    current_setting('full_page_writes') as "fullPageWrites",
    least(
      current_setting('max_connections')::int - current_setting('superuser_reserved_connections')::int
        - coalesce(current_setting('reserved_connections', true)::int, 0)
        - (select count(*) from pg_stat_activity a where a.backend_type = 'client backend'
            and a.application_name not like 'keyrail %')::int,
      nullif(r.rolconnlimit, -1), (select nullif(datconnlimit, -1) from pg_database where datname = current_database())
    ) as free
  from pg_roles r where r.rolname = current_user`

export async function readOutsideFacts(client: pg.ClientBase): Promise<OutsideFacts> {
  const { rows } = await client.query(facts)
  return rows[0]
}

/** A replication slot that nothing reads from, for which Postgres keeps its log. */
export interface IdleSlot {
  name: string
  /** As in `pg_replication_slots`: `reserved`, `extended` beyond max_wal_size, `unreserved` or `lost`. */
  state: string
  /** Bytes of the log since the slot was read; 0 if Postgres keeps none any more. */
  heldBytes: number
}

/** Any login may read the slots. Call it on a primary only: the slots of a standby wait for its promotion. */
export async function readIdleSlots(client: pg.ClientBase): Promise<IdleSlot[]> {
  const { rows } = await client.query(
    `select slot_name as name, wal_status as state,
       coalesce(pg_wal_lsn_diff(pg_current_wal_lsn(), restart_lsn), 0)::float as "heldBytes"
     from pg_replication_slots where not active and wal_status is not null order by slot_name`,
  )
  return rows
}

/** The SQL that gives the user the rights that migrations need and the user lacks; none if the user has all. */
export async function missingGrants(client: pg.ClientBase): Promise<string[]> {
  const { rows } = await client.query(
    `select quote_ident(current_user) as "user", quote_ident(current_database()) as database,
       has_schema_privilege('public', 'create') and has_schema_privilege('public', 'usage') as tables,
       has_database_privilege(current_database(), 'create') as schemas`,
  )
  const [{ user, database, tables, schemas }] = rows
  return [
    ...(schemas ? [] : [`grant create on database ${database} to ${user};`]),
    ...(tables ? [] : [`grant usage, create on schema public to ${user};`]),
  ]
}

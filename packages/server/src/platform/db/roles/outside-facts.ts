import type pg from 'pg'

/** What only matters of a server that others run: the embedded one has it right. */
export interface OutsideFacts {
  user: string
  isStandby: boolean
  /** Every transaction of this login begins as one that may only read. */
  isReadOnly: boolean
  isSuperuser: boolean
  synchronousCommit: string
  /** Commits wait for standbys that it names; empty: for none. */
  standbyNames: string
  /** Servers and programs that receive the log of this one. Anyone may count them. */
  receivers: number
  /** Those receivers that commits wait for; null: the login may not see which. */
  confirming: number | null
  fsync: string
  fullPageWrites: string
  /** Connections that other programs leave for Keyrail. */
  free: number
}

/** A limit of -1 is none. The service's own connections count as free: each process is counted whole. */
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

/** A replication slot that nothing reads from, and for which Postgres keeps its log. */
export interface IdleSlot {
  name: string
  /** As in `pg_replication_slots`: `reserved`, `extended` beyond max_wal_size, `unreserved` or `lost`. */
  state: string
  /** Bytes of the log since the slot was read; 0 if none are kept any more. */
  heldBytes: number
}

/** Anyone may read them. Only called on a primary: the slots of a standby wait for its promotion. */
export async function readIdleSlots(client: pg.ClientBase): Promise<IdleSlot[]> {
  const { rows } = await client.query(
    `select slot_name as name, wal_status as state,
       coalesce(pg_wal_lsn_diff(pg_current_wal_lsn(), restart_lsn), 0)::float as "heldBytes"
     from pg_replication_slots where not active and wal_status is not null order by slot_name`,
  )
  return rows
}

/** The SQL that gives the user what migrations need and it lacks; none if it lacks nothing. */
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

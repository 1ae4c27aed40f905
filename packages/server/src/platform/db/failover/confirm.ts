import { sql } from '../connection.ts'

/**
 * For a transaction that may answer from rows which it has not written, such as a revocation of a revoked key. Where standbys
 * are set, this statement writes an empty message to the log, so that its COMMIT waits for all earlier commits: Postgres also
 * shows a change whose own wait for the standby was cancelled. A transaction that has written waits anyway.
 */
export const confirmAnswer = sql(
  'db.confirm_answer',
  `select pg_logical_emit_message(true, 'keyrail', '')
   where current_setting('synchronous_standby_names') <> '' and pg_current_xact_id_if_assigned() is null`,
)

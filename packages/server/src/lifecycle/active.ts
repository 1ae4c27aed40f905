/**
 * When keys and secret keys are active (here), have ended (`ended.ts`), overlap with a successor (`overlap.ts`) or are too old
 * for their project (`lifetime.ts`); whether a parent may be deleted with its keys (`protection.ts`).
 */

/**
 * SQL for whether a key or a secret key is active: neither revoked nor expired, by the store's clock. At the moment of its
 * expiry a key has expired.
 * @param row what the statement calls the row.
 * @param now the clock. Postgres calls the function for each row that it filters; a query in its place runs once.
 */
export const isActiveSql = (row: 'k' | 'api_keys' | 'secret_keys', now = 'service_now()'): string =>
  `${row}.revoked_at is null and ${isUnexpiredSql(row, now)}`

/**
 * The same for a key alone. Its indexes by project and by tenant have revocation before the id: only this form reads the keys that
 * are not revoked in the order of their ids, past none that is.
 */
export const isActiveKeySql = (row: 'k' | 'api_keys', now = 'service_now()'): string =>
  `not ${row}.is_revoked and ${isUnexpiredSql(row, now)}`

const isUnexpiredSql = (row: string, now: string): string =>
  `(${row}.expires_at is null or ${row}.expires_at > ${now})`

/** The table with the names of the migrations that a database has. */
export const migrationsTable = 'keyrail_migrations'

import { sql } from '../connection.ts'

export const begin = sql('db.begin', 'begin')
export const commit = sql('db.commit', 'commit')
export const rollback = sql('db.rollback', 'rollback')

import { Type } from '../schema.ts'
import { KeyExport, KeyImport, KeyImported } from '../vendor/imports.ts'
import { declareRoutes } from './declare.ts'

export const transferRoutes = declareRoutes({
  'POST /v1/keys/import': {
    plane: 'vendor',
    operation: 'importKeys',
    summary: 'Import keys',
    description:
      'Takes over up to 1,000 keys of another system by their SHA-256, so that your customers keep them. Each row is judged by itself: a row that is not valid says why, and costs no other. All valid rows are written together. A repeated row changes nothing.',
    permission: 'keys:import',
    body: KeyImport,
    answer: KeyImported,
    refusals: ['not_found', 'live_credential_required'],
    replayable: true,
  },
  'GET /v1/keys/export': {
    plane: 'vendor',
    operation: 'exportKeys',
    summary: 'Export keys',
    description:
      'Streams the keys that are neither revoked nor expired, with their SHA-256, as one JSON object per line: what an import takes, and `object`, `id`, `project_id` and `env`. A last line `{"object":"export_end","count":N}` says how many there were; without it, continue after the last complete line.',
    permission: 'keys:read',
    query: KeyExport,
    answer: Type.String({
      description: 'One line of JSON per key, in rising order of `id`, and a last line.',
    }),
    answerType: 'application/x-ndjson',
    refusals: ['too_many_requests'],
  },
})

import type { Setting } from '../packages/server/src/setting.ts'
import { settings } from '../packages/server/src/settings.ts'

/** Set by the image or by another value of the chart, or a file that no volume brings. */
const setElsewhere = new Set([
  'SERVICE_HOST',
  'SERVICE_PORT',
  'SERVICE_TLS_CERT_FILE',
  'SERVICE_TLS_KEY_FILE',
  'SERVICE_DATA_DIR',
  'SERVICE_METRICS_PORT',
  'SERVICE_DRAIN_DELAY_S',
  'SERVICE_CODEHOST_KEYS_FILE',
])

const isSecret = ({ kind, holdsPassword }: Setting): boolean => kind === 'secret' || holdsPassword === true

/** The settings that are read from keys of the chart's Secret. */
export const secretSettings = (): string[] =>
  Object.entries<Setting>(settings).flatMap(([name, setting]) => (isSecret(setting) ? [name] : []))

/** What `values.schema.json` allows below `settings`: every other setting, with its bounds. */
export const settingsOfChart = (): Record<string, object> =>
  Object.fromEntries(
    Object.entries<Setting>(settings)
      .filter(([name, setting]) => !isSecret(setting) && !setElsewhere.has(name))
      .map(([name, setting]) => [name, schemaOf(setting)]),
  )

function schemaOf({ kind, min, max, oneOf, orWord }: Setting): object {
  const number = { type: 'integer', minimum: min, maximum: max }
  if (orWord !== undefined) return { anyOf: [number, { enum: [orWord] }] }
  if (kind === 'integer') return number
  if (kind === 'proxies') return { anyOf: [number, { type: 'string', pattern: '^[0-9a-fA-F.:/, ]+$' }] }
  return oneOf === undefined ? { type: 'string' } : { enum: [...oneOf] }
}

import {
  type Attributes,
  type Meter,
  metrics,
  type ObservableCallback,
  SpanKind,
  SpanStatusCode,
  type Tracer,
  trace,
} from '@opentelemetry/api'
import { refuseUnknown } from './http/connection-options.ts'
import { type Observer, observers } from './http/observer.ts'
import type { Keyring } from './keyring/keyring.ts'
import type { GateVerdict } from './protect/gate-options.ts'
import type { KeyrailError } from './runtime/errors.ts'
import { type OfWhole, partOf } from './runtime/part-of.ts'
import { warn } from './runtime/reports.ts'

export type { GateVerdict }

/** Options of `instrument`. */
export interface InstrumentOptions {
  /** The keyring whose lag behind the service is measured, or a `Keyrail`. */
  keyring?: OfWhole<'keys', Pick<Keyring, 'stats'>> | undefined
  /** Distinguishes this keyring from others of the same project and environment, as `keyrail.keyring`. */
  name?: string | undefined
  /** Default: the meter of the global provider. */
  meter?: Meter | undefined
  /** Default: the tracer of the global provider. */
  tracer?: Tracer | undefined
}

/** Made by `instrument`. */
export interface Instruments {
  /**
   * Counts each request once, by its verdict, and later refusals apart. Pass this function as the option `onVerdict` to
   * everything that protects routes.
   */
  onVerdict(verdict: Pick<GateVerdict, 'passed' | 'code' | 'later'>): void
  /** Stops recording calls, verdicts and lag. Call it when the keyring is closed. May be called twice. */
  stop(): void
}

const known: { readonly [Name in keyof Required<InstrumentOptions>]: true } = {
  keyring: true,
  name: true,
  meter: true,
  tracer: true,
}
const SCOPE = '@keyrail/sdk'

/** Paths of the calls that the SDK makes while it serves a customer's request. None of them contains an id. */
const hotCall = /^\/v1\/(ratelimit|idempotency|usage)\/(\w+)$/

/**
 * Records verdicts, the lag of the keyring, and every call for limits, idempotency and usage of this process in OpenTelemetry.
 * Records no key, customer or request. Call it after OpenTelemetry has started, once for each keyring; only the last one that
 * was not stopped records the calls.
 *
 * @throws TypeError naming a wrong option
 */
export function instrument(options: InstrumentOptions = {}): Instruments {
  refuseUnknown('instrument', options, known)
  const { keyring: given, name, meter = metrics.getMeter(SCOPE), tracer = trace.getTracer(SCOPE) } = options
  const keyring = given && partOf(given, 'keys')
  if (keyring !== undefined && typeof keyring?.stats !== 'function')
    throw new TypeError('keyring must be made by createKeyring')
  if (name !== undefined && (typeof name !== 'string' || name === ''))
    throw new TypeError('name must be a string that is not empty')
  const whose = attributesOf(keyring, name)
  const forgetLag = warnIfTaken(meter, keyring && whose)
  const lag = meter.createObservableGauge('keyrail.feed.lag', { unit: 'ms' })
  const recordLag: ObservableCallback = gauge => {
    const { confirmedAgeMs = null } = keyring?.stats() ?? {}
    if (confirmedAgeMs !== null) gauge.observe(confirmedAgeMs, whose)
  }
  lag.addCallback(recordLag)
  const durations = meter.createHistogram('keyrail.call.duration', { unit: 'ms' })
  const recordCall: Observer = (path, call) => {
    const [, folder, what] = hotCall.exec(path) ?? []
    if (folder === undefined) return call()
    const name = `${folder}.${what}`
    return tracer.startActiveSpan(`keyrail.${name}`, { kind: SpanKind.CLIENT }, async span => {
      const attributes: Attributes = { 'keyrail.call': name }
      const note = ({ status, code }: { status?: number | undefined; code?: string }) => {
        if (status !== undefined) attributes['http.response.status_code'] = status
        if (code !== undefined) attributes['error.type'] = code
      }
      const beganAt = performance.now()
      try {
        const answer = await call()
        note({ status: answer.status })
        return answer
      } catch (error) {
        note(error as KeyrailError)
        span.setStatus({ code: SpanStatusCode.ERROR })
        throw error
      } finally {
        durations.record(performance.now() - beganAt, attributes)
        span.setAttributes(attributes).end()
      }
    })
  }
  observers.push(recordCall)
  const verdicts = meter.createCounter('keyrail.verdicts')
  const refusals = meter.createCounter('keyrail.later_refusals')
  let stopped = false
  return {
    onVerdict({ passed, code, later }) {
      if (stopped) return
      if (later) refusals.add(1, { 'keyrail.code': code, ...whose })
      else verdicts.add(1, { 'keyrail.passed': passed, 'keyrail.code': code, ...whose })
    },
    stop() {
      if (stopped) return
      stopped = true
      lag.removeCallback(recordLag)
      forgetLag()
      observers.splice(observers.indexOf(recordCall), 1)
    },
  }
}

function attributesOf(keyring: Pick<Keyring, 'stats'> | undefined, name: string | undefined): Attributes {
  const { project, env } = keyring?.stats() ?? {}
  return {
    ...(keyring && { 'keyrail.project': project, 'keyrail.env': env }),
    ...(name !== undefined && { 'keyrail.keyring': name }),
  }
}

/** The recordings that run. */
const recordings = new Set<{ readonly meter: Meter; readonly id: string }>()

/**
 * Warns of two keyrings with the same attributes, which would overwrite each other's lag.
 *
 * @returns a function to call when the recording ends
 */
function warnIfTaken(meter: Meter, whose: Attributes | undefined): () => void {
  if (whose === undefined) return () => {}
  const own = { meter, id: JSON.stringify(whose) }
  if ([...recordings].some(({ meter, id }) => meter === own.meter && id === own.id))
    warn('instrument was called for two keyrings of one project: give each a name', 'same_keyring')
  recordings.add(own)
  return () => recordings.delete(own)
}

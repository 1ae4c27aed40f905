import {
  type Attributes,
  type Meter,
  metrics,
  SpanKind,
  SpanStatusCode,
  type Tracer,
  trace,
} from '@opentelemetry/api'
import { refuseUnknown } from './http/connection-options.ts'
import { observer } from './http/observer.ts'
import type { Keyring } from './keyring/keyring.ts'
import type { GateVerdict } from './protect/gate-options.ts'
import type { KeyrailError } from './runtime/errors.ts'

export type { GateVerdict }

/** What is measured, and where that goes. */
export interface InstrumentOptions {
  /** The keyring whose lag behind the service is told. */
  keyring?: Pick<Keyring, 'stats'> | undefined
  /** That of the global provider unless given. */
  meter?: Meter | undefined
  /** That of the global provider unless given. */
  tracer?: Tracer | undefined
}

/** What is left to be handed on; made by `instrument`. */
export interface Instruments {
  /** For the option `onVerdict` of what protects routes: counts its verdicts. */
  onVerdict(verdict: Pick<GateVerdict, 'passed' | 'code'>): void
}

const known: { readonly [Name in keyof Required<InstrumentOptions>]: true } = {
  keyring: true,
  meter: true,
  tracer: true,
}
const SCOPE = '@keyrail/sdk'

/** Calls that a request of a customer makes, or that follow from it. None of these paths holds an id. */
const hotCall = /^\/v1\/(ratelimit|idempotency|usage)\/(\w+)$/

/**
 * Tells OpenTelemetry of verdicts, of the keyring's lag, and of every call for limits, idempotency and usage that this process makes
 * from here on. Nothing that it tells names a key, a customer or a request. Call it once, after OpenTelemetry has started.
 *
 * @throws TypeError naming the option that is wrong
 */
export function instrument(options: InstrumentOptions = {}): Instruments {
  refuseUnknown('instrument', options, known)
  const { keyring, meter = metrics.getMeter(SCOPE), tracer = trace.getTracer(SCOPE) } = options
  if (keyring !== undefined) {
    if (typeof keyring?.stats !== 'function') throw new TypeError('keyring must be made by createKeyring')
    meter.createObservableGauge('keyrail.feed.lag', { unit: 'ms' }).addCallback(gauge => {
      const { confirmedAgeMs } = keyring.stats()
      if (confirmedAgeMs !== null) gauge.observe(confirmedAgeMs)
    })
  }
  const durations = meter.createHistogram('keyrail.call.duration', { unit: 'ms' })
  observer.around = (path, call) => {
    const [, room, what] = hotCall.exec(path) ?? []
    if (room === undefined) return call()
    const name = `${room}.${what}`
    return tracer.startActiveSpan(`keyrail.${name}`, { kind: SpanKind.CLIENT }, async span => {
      const attributes: Attributes = { 'keyrail.call': name }
      const told = ({ status, code }: { status?: number | undefined; code?: string }) => {
        if (status !== undefined) attributes['http.response.status_code'] = status
        if (code !== undefined) attributes['error.type'] = code
      }
      const beganAt = performance.now()
      try {
        const answer = await call()
        told({ status: answer.status })
        return answer
      } catch (error) {
        told(error as KeyrailError)
        span.setStatus({ code: SpanStatusCode.ERROR })
        throw error
      } finally {
        durations.record(performance.now() - beganAt, attributes)
        span.setAttributes(attributes).end()
      }
    })
  }
  const verdicts = meter.createCounter('keyrail.verdicts')
  return {
    onVerdict({ passed, code }) {
      verdicts.add(1, { 'keyrail.passed': passed, 'keyrail.code': code })
    },
  }
}

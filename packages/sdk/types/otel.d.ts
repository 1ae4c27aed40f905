import { GateVerdict, Keyring, OfWhole } from "./core.js";
import { Meter, Tracer } from "@opentelemetry/api";

/** Options of `instrument`. */
interface InstrumentOptions {
	/** The keyring whose lag behind the service is measured, or a `Keyrail`. */
	keyring?: OfWhole<'keys', Pick<Keyring, 'stats'>> | undefined;
	/** Distinguishes this keyring from others of the same project and environment, as `keyrail.keyring`. */
	name?: string | undefined;
	/** Default: the meter of the global provider. */
	meter?: Meter | undefined;
	/** Default: the tracer of the global provider. */
	tracer?: Tracer | undefined;
}
/** Made by `instrument`. */
interface Instruments {
	/**
	 * Counts each request once, by its verdict, and later refusals apart. Pass this function as the option `onVerdict` to
	 * everything that protects routes.
	 */
	onVerdict(verdict: Pick<GateVerdict, 'passed' | 'code' | 'later'>): void;
	/** Stops recording calls, verdicts and lag. Call it when the keyring is closed. May be called twice. */
	stop(): void;
}
/**
 * Records verdicts, the lag of the keyring, and every call for limits, idempotency and usage of this process in OpenTelemetry.
 * Records no key, customer or request. Call it after OpenTelemetry has started, once for each keyring; only the last one that
 * was not stopped records the calls.
 *
 * @throws TypeError naming a wrong option
 */
declare function instrument(options?: InstrumentOptions): Instruments;
export { GateVerdict, InstrumentOptions, Instruments, instrument };

import { KeyringOptions, Requirements, Verdict } from "./core.js";

/** Options of `createWorkerKeyring`. A worker has no disk, and does nothing after its answer. */
type WorkerKeyringOptions = Omit<KeyringOptions, 'readyTimeoutMs' | 'cacheDir' | 'onUnknownKey' | 'importWith' | 'shadow'>;
/** What a host of workers passes with a request: `ctx` of Cloudflare, `c.executionCtx` of Hono. */
interface RequestContext {
	/** Lets work continue after the request was answered. */
	waitUntil(work: Promise<unknown>): void;
}
/** A keyring for hosts that run nothing outside of requests. It asks for changes during requests. */
interface WorkerKeyring {
	/**
	 * Await it before `verify` in every request. Does nothing while the keys were confirmed within `pollIntervalMs`. After
	 * that, one request asks for changes and waits one second at most. If no keys can be served, every request waits. Never
	 * rejects: an error goes to `onError`, and `verify` refuses.
	 */
	refresh(context: RequestContext): Promise<void>;
	/** Verifies a key: synchronous, in memory, never throws. */
	verify(key: string | null | undefined, requirements?: Requirements): Verdict;
}
/**
 * Loads the keys of a project with the first request, and keeps them for later ones.
 *
 * @throws TypeError naming a missing or wrong option
 */
declare const createWorkerKeyring: (options?: WorkerKeyringOptions) => WorkerKeyring;
/** Replacements for parts that work between requests, where a host of workers runs nothing. */
/** @throws TypeError always, and not only with the first request */
declare function createKeyring(): never;
/** @throws TypeError always, as its keyring does */
declare function createKeyrail(): never;
/** @throws TypeError always, because counts would be lost silently */
declare function createUsageReporter(): never;
export { RequestContext, Requirements, Verdict, WorkerKeyring, WorkerKeyringOptions, createKeyrail, createKeyring, createUsageReporter, createWorkerKeyring };
export { Admission, AnswerHeaders, ConnectionOptions, Embed, EmbedOptions, EmbedTokenRequest, ErrorOptions, FieldFault, GateCode, GateOptions, GateRequest, GateVerdict, HeldClaim, HttpAnswer, HttpProblem, Idempotency, IdempotencyOptions, IdempotencyVerdict, IdempotentRequest, KeyrailError, KeyrailErrorCode, KeyrailErrorFacts, LimitNumbers, LimitRequirements, LimitSource, LimitState, LimitVerdict, Limiter, LimiterOptions, LimiterStats, Notice, OnUnavailable, PolicyScopeTooLargeError, PrepayOptions, RateLimit, RefusalCode, RefusalShape, Refused, RequestGate, RequestParts, RouteRequirements, SecretKeySource, StoredAnswer, Valid, createEmbed, createGate, createIdempotency, createLimiter, fingerprintOf, refusals } from "./core.js";
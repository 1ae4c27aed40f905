import { GateOptions, IdempotencyOf, IdempotentOptions, KeyringOf, LimitRequirements, LimiterOf, MakeEmbedHandler, RouteRequirements, Valid, Verdict } from "./core.js";
import type { Context, MiddlewareHandler } from "hono" with { "resolution-mode": "import" };

/** The context of a route after `requireKey`: `c.get('apiKey')`. */
interface KeyrailEnv {
	Variables: {
		apiKey: Valid;
/** With the option `shadow` of the keyring: the verdict on the key, which may be a refusal. */
		keyrail?: Verdict;
	};
}
/** Options of `requireKey`. */
interface RequireKeyOptions extends GateOptions<Context>, Pick<RouteRequirements, 'cost'> {}
/**
 * Lets a request pass only with a valid key, which the route reads by `c.get('apiKey')`. Refuses as
 * `application/problem+json`, and with 429 where the key has used up a limit. With a whole `Keyrail`, charges limits and counts
 * requests. Counts when the answer is made, so that requests refused by a later `limit` are not counted. If the key is `optional`, `requireScope`, `limit`, and `idempotent` for a request with an `Idempotency-Key` still
 * demand one.
 *
 * @throws TypeError if the keyring is missing or wrong, so that a wrong import never leaves a route open, or if `cost` is given
 *   without `limiter`
 */
declare function requireKey(keyring: KeyringOf, options: RequireKeyOptions & {
	optional: true;
}): MiddlewareHandler<{
	Variables: {
		apiKey: Valid | undefined;
	};
}>;
declare function requireKey(keyring: KeyringOf, options?: RequireKeyOptions): MiddlewareHandler<KeyrailEnv>;
/** After `requireKey`: the key must have all of these scopes, else 403. */
declare function requireScope(...scopes: readonly string[]): MiddlewareHandler<KeyrailEnv>;
/**
 * After `requireKey`: charges the request to the limits of its key. Refuses with 429 if one is used up. Behind a guard that
 * charges to the same limiter, only what `cost` exceeds the cost of the guard.
 */
declare function limit(given: LimiterOf, requirements?: LimitRequirements): MiddlewareHandler<KeyrailEnv>;
/** After `requireKey`: executes a request with an `Idempotency-Key` once, and answers a repetition with the first answer. */
declare function idempotent(given: IdempotencyOf, options?: IdempotentOptions): MiddlewareHandler<KeyrailEnv>;
/** Answers the pages that ask for embed tokens, for `app.post`. */
declare const embedHandler: MakeEmbedHandler<Context, (context: Context) => Promise<Response>>;
export { IdempotentOptions, KeyrailEnv, LimitRequirements, RequireKeyOptions, embedHandler, idempotent, limit, requireKey, requireScope };

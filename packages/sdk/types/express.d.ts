import { GateOptions, IdempotencyOf, IdempotentOptions, KeyringOf, LimitRequirements, LimiterOf, MakeEmbedHandler, RouteRequirements, Valid, Verdict, apiKeyOf } from "./core.js";
import { Request, RequestHandler } from "express";

declare global {
	namespace Express {
		interface Request {
			/** The key of this request, once `requireKey` has let it pass. See `apiKeyOf`. */
			apiKey?: Valid;
			/** With the option `shadow` of the keyring: the verdict on the key, which may be a refusal. */
			keyrail?: Verdict;
		}
	}
}
/** Options of `requireKey`. */
interface RequireKeyOptions extends GateOptions<Request>, Pick<RouteRequirements, 'cost'> {}
/**
 * Lets a request pass only with a valid key, and sets `req.apiKey`. For Express 4 and 5. Refuses with 401, 403 or 503 as
 * `application/problem+json`, and with 429 where the key has used up a limit. With a whole `Keyrail`, charges limits and counts
 * requests. Counts when the answer begins, so that requests refused by a later `limit` are not counted. If the key is `optional`, `requireScope`, `limit`, and `idempotent` for a request with an `Idempotency-Key` still
 * demand one.
 *
 * @throws TypeError if the keyring is missing or wrong, so that a wrong import never leaves a route open, or if `cost` is given
 *   without `limiter`
 */
declare function requireKey(keyring: KeyringOf, {
	cost,
	...options
}?: RequireKeyOptions): RequestHandler;
/**
 * After `requireKey`: the key must have all of these scopes, else 403.
 *
 * Without `requireKey` before it, requests get 500, and a process warning explains the order.
 */
declare function requireScope(...scopes: readonly string[]): RequestHandler;
/**
 * After `requireKey`: charges the request to the limits of its key. Refuses with 429 if one is used up. Behind a guard that
 * charges to the same limiter, only what `cost` exceeds the cost of the guard.
 */
declare function limit(given: LimiterOf, requirements?: LimitRequirements): RequestHandler;
/**
 * After `requireKey` and the body parser: executes a request with an `Idempotency-Key` once, and answers a repetition with
 * the first answer. GET requests pass unchanged.
 */
declare function idempotent(given: IdempotencyOf, options?: IdempotentOptions): RequestHandler;
/** For `express.json({ verify: keepRawBody })`: `idempotent` then compares the bytes of bodies, not their parsed content. */
declare function keepRawBody(request: object, _response: unknown, bytes: Uint8Array): void;
/** Answers the pages that ask for embed tokens, for `app.post`. */
declare const embedHandler: MakeEmbedHandler<Request, RequestHandler>;
export { IdempotentOptions, LimitRequirements, RequireKeyOptions, apiKeyOf, embedHandler, idempotent, keepRawBody, limit, requireKey, requireScope };

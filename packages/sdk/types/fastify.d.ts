import { GateOptions, IdempotencyOf, KeyringOf, MakeEmbedHandler, RouteRequirements, Valid, Verdict, apiKeyOf } from "./core.js";
import { FastifyPluginAsync, FastifyReply, FastifyRequest } from "fastify";

/** Options of `keyrailPlugin`. */
interface KeyrailPluginOptions extends GateOptions<FastifyRequest> {
	keyring: KeyringOf;
	/** Executes a request with an `Idempotency-Key` once, and answers a repetition with the first answer. */
	idempotency?: IdempotencyOf | undefined;
}
/** A route's `config.keyrail`. */
interface KeyrailRouteConfig extends RouteRequirements {
	/** Lets requests without a key pass, and does not read a key. */
	public?: boolean | undefined;
	/** Refuses requests without `Idempotency-Key` with 400. */
	idempotencyRequired?: boolean | undefined;
}
declare module 'fastify' {
	interface FastifyRequest {
		/** The key of this request; undefined on a public route, or if none was sent where it is optional. See `apiKeyOf`. */
		apiKey: Valid | undefined;
		/** With the option `shadow` of the keyring: the verdict on the key, which may be a refusal. */
		keyrail: Verdict | undefined;
	}
	interface FastifyContextConfig {
		keyrail?: KeyrailRouteConfig;
	}
}
/** Answers the pages that ask for embed tokens, for `app.post`. */
declare const embedHandler: MakeEmbedHandler<FastifyRequest, (request: FastifyRequest, reply: FastifyReply) => Promise<FastifyReply>>;
/** Marked as `fastify-plugin` would: its hooks apply to the instance on which it is registered. */
declare const keyrailPlugin: FastifyPluginAsync<KeyrailPluginOptions>;
export { KeyrailPluginOptions, KeyrailRouteConfig, apiKeyOf, embedHandler, keyrailPlugin };

import { GateOptions, IdempotencyOf, KeyringOf, MakeEmbedHandler } from "./core.js";
import type { CustomDecorator, DynamicModule, InjectionToken } from "@nestjs/common" with { "resolution-mode": "import" };

/**
 * Opens a route, or all routes of a controller, to requests without a key. A route that demands something of a key cannot be
 * public: the application does not start.
 */
declare const Public: () => CustomDecorator;
/**
 * Lets requests without a key pass, on a route or all routes of a controller, where nothing is demanded of the key. A key that
 * is sent is still checked.
 */
declare const OptionalKey: () => CustomDecorator;
/**
 * Scopes that the key must all have: those of the controller and of the route.
 *
 * @throws TypeError if no scope is given
 */
declare function Scopes(...scopes: string[]): CustomDecorator;
/** How much a request takes from every limit, 0 to 1,000. Needs the option `limiter`. */
declare const Cost: (cost: number) => CustomDecorator;
/** Refuses requests without `Idempotency-Key` with 400, on a route or all routes of a controller. */
declare const IdempotencyRequired: () => CustomDecorator;
/** The request that the platform passes to a route: `express.Request` or `FastifyRequest`. */
type KeyrailRequest = any;
/** Options of `KeyrailModule.forRoot`. */
interface KeyrailModuleOptions extends GateOptions<KeyrailRequest> {
	keyring: KeyringOf;
	/** Executes a request with an `Idempotency-Key` once, and answers a repetition with the first answer. */
	idempotency?: IdempotencyOf | undefined;
}
/** Options of `KeyrailModule.forRootAsync`: a factory, and what Nest injects into it. */
interface KeyrailModuleAsyncOptions {
	imports?: DynamicModule['imports'];
	inject?: InjectionToken[];
	/** Makes the options once, when the application starts. May return a promise. */
	useFactory: (...injected: any[]) => KeyrailModuleOptions | Promise<KeyrailModuleOptions>;
}
/** Injects the key of the request: undefined on a public route, or if none was sent where it is optional. */
declare const ApiKey: () => ParameterDecorator;
/** With `imports: [KeyrailModule.forRoot({ keyring })]` every route of the application needs a key. */
declare class KeyrailModule {
	/** For `imports` of the application's root module. */
	static forRoot(options: KeyrailModuleOptions): DynamicModule;
	/** The same with options from a factory. */
	static forRootAsync({
		imports,
		inject,
		useFactory
	}: KeyrailModuleAsyncOptions): DynamicModule;
}
/**
 * Answers the pages that ask for embed tokens: a function for a method with `@Public()` and `@Post()`, which passes it `@Req()`
 * and `@Res()`.
 */
declare const embedHandler: MakeEmbedHandler<KeyrailRequest, (request: KeyrailRequest, response: unknown) => Promise<void>>;
export { ApiKey, Cost, IdempotencyRequired, KeyrailModule, KeyrailModuleAsyncOptions, KeyrailModuleOptions, KeyrailRequest, OptionalKey, Public, Scopes, embedHandler };

import fastify from 'fastify'

/** Fastify with one log line a request, like the service: every control and peer is built on it. */
export function loggedFastify() {
  const app = fastify({ logger: true, disableRequestLogging: true })
  app.addHook('onResponse', async (request, reply) => {
    request.log.info({
      method: request.method,
      url: request.url,
      status: reply.statusCode,
      ms: reply.elapsedTime,
    })
  })
  return app
}

import fastify from 'fastify'

/** Fastify with one line logged a request, as the service logs one: what every control and peer stands on. */
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

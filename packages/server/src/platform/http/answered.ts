import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'

type Listener = (request: FastifyRequest, reply: FastifyReply) => void

/** Listeners by app. A request has one `close` handler, however many listeners there are. */
const listeners = new WeakMap<FastifyInstance, Listener[]>()

/**
 * Calls the listener once per request, when the response is sent or can no longer be sent. Fastify's own hook is not called for
 * a caller that hangs up first, and such requests must be logged too.
 */
export function whenAnswered(app: FastifyInstance, listener: Listener): void {
  const all = listeners.get(app)
  if (all === undefined) {
    const first = [listener]
    listeners.set(app, first)
    listen(app, first)
  } else all.push(listener)
}

function listen(app: FastifyInstance, all: readonly Listener[]): void {
  const notify: Listener = (request, reply) => {
    for (const listener of all) listener(request, reply)
  }
  app.addHook('onSend', (request, reply, _payload, done) => {
    if (reply.raw.closed) notify(request, reply)
    else {
      reply.raw.once('close', () => {
        if (!reply.raw.writableFinished) notify(request, reply)
      })
    }
    done()
  })
  app.addHook('onResponse', (request, reply, done) => {
    // Otherwise the `close` handler reports the request.
    if (reply.raw.writableFinished) notify(request, reply)
    done()
  })
}

import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'

type Told = (request: FastifyRequest, reply: FastifyReply) => void

/** Who wants to know, by app: however many they are, a request has one listener. */
const listeners = new WeakMap<FastifyInstance, Told[]>()

/**
 * Tells of each request once, when its answer has gone or can go no more. The library's own hook is not called for a
 * caller who hangs up first: nobody shall leave no trace by that.
 */
export function whenAnswered(app: FastifyInstance, told: Told): void {
  const all = listeners.get(app)
  if (all === undefined) {
    const first = [told]
    listeners.set(app, first)
    listen(app, first)
  } else all.push(told)
}

function listen(app: FastifyInstance, all: readonly Told[]): void {
  const tell: Told = (request, reply) => {
    for (const told of all) told(request, reply)
  }
  app.addHook('onSend', (request, reply, _payload, done) => {
    if (reply.raw.closed) tell(request, reply)
    else {
      reply.raw.once('close', () => {
        if (!reply.raw.writableFinished) tell(request, reply)
      })
    }
    done()
  })
  app.addHook('onResponse', (request, reply, done) => {
    // Otherwise it was told of when the connection closed, or will be.
    if (reply.raw.writableFinished) tell(request, reply)
    done()
  })
}

import { answerTokens, type MakeEmbedHandler, respond } from './handler.ts'

/** Answers the pages that ask for embed tokens: a `POST` handler of the Fetch API. */
export const embedHandler: MakeEmbedHandler<Request, (request: Request) => Promise<Response>> = (
  ...given
) => {
  const answer = answerTokens(...given)
  return request => respond(answer, request, request)
}

// Uses an open file descriptor as a socket. The types of Bun.connect lack this form.
import type { Socket, SocketHandler } from "bun";

type Connect = (options: {
  readonly fd: number;
  readonly socket: SocketHandler<undefined>;
}) => Promise<Socket>;

export function connectTo(fd: number, socket: SocketHandler<undefined>): Promise<Socket> {
  return (Bun.connect as unknown as Connect)({ fd, socket });
}

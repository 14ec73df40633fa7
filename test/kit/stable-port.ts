/** Where tests look for ports of servers that are stopped and started again. */
export { stablePort } from '../../cluster/system/stable-port.js';

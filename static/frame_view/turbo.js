// Turbo, a rainbow that is even to the eye; polynomial by Anton Mikhailov, Google, Apache-2.0.
export function turbo(x) {
  x = Math.min(1, Math.max(0, x));
  const channel = (a, b, c, d, e, f) =>
    Math.max(0, Math.min(255, 255 * (a + x * (b + x * (c + x * (d + x * (e + x * f)))))));
  return [
    channel(0.13572138, 4.6153926, -42.66032258, 132.13108234, -152.94239396, 59.28637943),
    channel(0.09140261, 2.19418839, 4.84296658, -14.18503333, 4.27729857, 2.82956604),
    channel(0.1066733, 12.64194608, -60.58204836, 110.36276771, -89.90310912, 27.34824973),
  ];
}

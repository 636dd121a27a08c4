object Main extends App {
  def f0[T](x: T) = (x, x)
  def f1[T](x: T) = f0(f0(x))
  def f2[T](x: T) = f1(f1(x))
  def f3[T](x: T) = f2(f2(x))
  def f4[T](x: T) = f3(f3(x))
  def f5[T](x: T) = f4(f4(x))
  f5(1)
  println(42)
}

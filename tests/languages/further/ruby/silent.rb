gets
